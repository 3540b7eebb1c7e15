"""Where the fitted figures come from: titles, licences and attributions of the traces used."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

import polars as pl

from lab.workloads.trace import TraceFile, require
from twin.workloads.model import Provenance, SourceFile

CC_BY = "CC BY 4.0"
CC_BY_URL = "https://creativecommons.org/licenses/by/4.0/"
APACHE = "Apache-2.0"
APACHE_URL = "https://www.apache.org/licenses/LICENSE-2.0"
MIT = "MIT"
MIT_URL = "https://opensource.org/license/mit"
REDUCED = "reduced to counts, rates and quantiles; no row of the trace is kept as it was"


@dataclass(frozen=True, slots=True)
class Source:
    """Publication facts of one trace."""

    title: str
    publisher: str
    licence: str
    licence_url: str
    attribution: str
    changes: tuple[str, ...]


SOURCES = {
    "openb": Source(
        title="Alibaba cluster-trace-gpu-v2023 (openb)",
        publisher="github.com/alibaba/clusterdata, github.com/hkust-adsl/"
        "kubernetes-scheduler-simulator",
        licence=APACHE,
        licence_url=APACHE_URL,
        attribution="Weng et al., Beware of Fragmentation, USENIX ATC'23; Alibaba "
        "cluster-trace-gpu-v2023",
        changes=(
            REDUCED,
            "a share of one GPU is counted as one GPU",
            "20 % of the pods were held out beforehand",
        ),
    ),
    "google2011": Source(
        title="Google cluster-usage traces, clusterdata-2011-2",
        publisher="github.com/google/cluster-data",
        licence=CC_BY,
        licence_url=CC_BY_URL,
        attribution="Google cluster-usage traces (clusterdata-2011-2), J. Wilkes and C. Reiss, "
        "Google",
        changes=(
            REDUCED,
            "requests scaled to a largest machine of 64 cores and 256 GiB",
            "parts 0 to 13 of 500 of the task events; 20 % of the jobs were held out beforehand",
        ),
    ),
    "azure": Source(
        title="Azure Public Dataset V1 (2017), VM arrivals",
        publisher="github.com/Azure/AzurePublicDataset; as sequences by "
        "github.com/huaweicloud/trace_generation_rnn",
        licence=CC_BY,
        licence_url=CC_BY_URL,
        attribution="Azure Public Dataset V1, Cortez et al., SOSP'17, Microsoft; processed by "
        "Huawei Cloud",
        changes=(
            REDUCED,
            "durations are known as bins only and spread evenly within them",
            "machines assumed; 20 % of the VMs were held out beforehand",
        ),
    ),
    "philly": Source(
        title="Microsoft Philly traces (2017)",
        publisher="github.com/msr-fiddle/philly-traces; as a job list by github.com/pkusys/ElasticFlow",
        licence=CC_BY,
        licence_url=CC_BY_URL,
        attribution="msr-fiddle/philly-traces, Microsoft; Jeon et al., Analysis of Large-Scale "
        "Multi-Tenant GPU Clusters for DNN Training Workloads, USENIX ATC'19",
        changes=(
            REDUCED,
            "jobs of more than 8 GPUs as several pods; cpu and memory assumed from the GPUs",
            "20 % of the jobs were held out beforehand",
        ),
    ),
    "surf": Source(
        title="SURF Lisa cluster, October 2022, in the form of OpenDC",
        publisher="github.com/atlarge-research/trace-archive",
        licence=MIT,
        licence_url=MIT_URL,
        attribution="SURF Lisa workload trace, trace-archive, (c) 2024 AtLarge Research",
        changes=(
            REDUCED,
            "memory requests assumed; machines from SURF's page on Lisa's hardware",
            "20 % of the jobs were held out beforehand",
        ),
    ),
    "google2019": Source(
        title="Google cluster-usage traces v3, 2019",
        publisher="github.com/google/cluster-data; windows joined with requests by "
        "github.com/muse-research-lab/cloud-traces-comparison",
        licence=CC_BY,
        licence_url=CC_BY_URL,
        attribution="Google cluster-usage traces v3, Google, 2019",
        changes=(REDUCED, "average use divided by limit"),
    ),
}


def provenance(name: str, data_dir: Path, used: tuple[TraceFile, ...]) -> Provenance:
    """Publication facts of trace `name` with the sha256 of each file that was used."""
    source = SOURCES[name]
    return Provenance(
        title=source.title,
        publisher=source.publisher,
        licence=source.licence,
        licence_url=source.licence_url,
        attribution=source.attribution,
        changes=list(source.changes),
        files=[
            SourceFile(
                path=entry.path,
                sha256=_sha256(require(data_dir, entry.path)),
                used_for=entry.used_for,
                rows=_rows(require(data_dir, entry.path)),
            )
            for entry in used
        ],
    )


def _rows(path: Path) -> int:
    """Rows of a parquet or CSV file."""
    scan = pl.scan_parquet(path) if path.suffix == ".parquet" else pl.scan_csv(path)
    return int(scan.select(pl.len()).collect().item())


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
