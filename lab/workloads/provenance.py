"""Where the fitted figures come from: titles, licences and attributions of the traces used."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from lab.workloads.trace import TraceFile, require
from twin.workloads.model import Provenance, SourceFile

CC_BY = "CC BY 4.0"
CC_BY_URL = "https://creativecommons.org/licenses/by/4.0/"
APACHE = "Apache-2.0"
APACHE_URL = "https://www.apache.org/licenses/LICENSE-2.0"
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
            )
            for entry in used
        ],
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
