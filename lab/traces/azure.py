"""Read the Azure Public Dataset V1 (2017) in the form of VM arrivals: the part with durations.

Read as: each VM is a service of one pod that is deleted at its end, or runs on when the trace ends
before it. Arrivals are stamped in bins of five minutes and durations in wider bins: a VM arrives
somewhere within its bin, and lasts somewhere within its duration's bin, spread evenly by its row.
Machines are not published. Assumed: 40 cores and 256 GiB each, so many that the VMs there when the
busiest hour begins request 60 % of all cores.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path

import polars as pl

from lab.traces.machines import MachineKind, machine_rows
from lab.traces.trace_reader import CC_BY, CC_BY_URL, REDUCED, Publication, TraceReader
from lab.traces.workload_trace import (
    POD_COLUMNS,
    SECONDS_PER_HOUR,
    PodClass,
    TraceFile,
    WorkloadTrace,
    hour_weights,
    require,
)

VM_FILE = "replay/azure_v1_vm_arrivals.parquet"
CORES, MEMORY_GIB = 40, 256
BUSY_RATIO = 0.6
BIN_SECONDS = 300.0
BYTES_PER_GB = 2**30
GOLDEN = 0.618033988749895  # multiples of it, without their whole part, spread evenly over 0..1
CLASSES = (PodClass("vm", "service", 0),)


def read_azure(data_dir: Path) -> WorkloadTrace:
    """Read the VMs whose durations are known; raises InputError when the file is missing."""
    raw = pl.scan_parquet(require(data_dir, VM_FILE))
    known = raw.filter(pl.col("duration_lo_s").is_not_null()).collect()
    total = int(raw.select(pl.len()).collect().item())
    trace = WorkloadTrace(
        name="azure",
        nodes=machine_rows("azure-host", [MachineKind(1, CORES, MEMORY_GIB, 0, "")]),
        pods=_pods(known),
        classes=CLASSES,
        end_seconds=float(known.select(pl.col("time_s").max()).item()) + BIN_SECONDS,
        reference_nodes=1,
        reference_note="",
        hour_weights=hour_weights(known["time_s"]),
        dropped=f"{total - len(known)} earlier VMs, whose durations are not published",
        files=(TraceFile(VM_FILE, "arrivals, sizes, duration bins (machines are assumed)"),),
    )
    return _on_enough_machines(trace)


def _on_enough_machines(trace: WorkloadTrace) -> WorkloadTrace:
    """The trace on so many machines that BUSY_RATIO of their cores is requested at its busiest."""
    there, _ = trace.load_ratio(trace.busiest_hour()[0] * SECONDS_PER_HOUR)
    count = max(1, ceil(there / BUSY_RATIO))
    return replace(
        trace,
        nodes=machine_rows("azure-host", [MachineKind(count, CORES, MEMORY_GIB, 0, "")]),
        reference_nodes=count,
        reference_note=(
            f"machines are assumed: {count} of {CORES} cores and {MEMORY_GIB} GiB, of whose cores "
            f"{BUSY_RATIO:.0%} are requested when the busiest hour begins"
        ),
    )


def _spread(number: pl.Expr) -> pl.Expr:
    """Evenly spread numbers of 0..1 for 0, 1, 2, ..."""
    return (number * GOLDEN).mod(1.0)


def _pods(vms: pl.DataFrame) -> pl.DataFrame:
    batch = pl.struct("time_s", "batch").rle_id()
    row = pl.int_range(pl.len())
    low, high = pl.col("duration_lo_s"), pl.col("duration_hi_s")
    arrive = (pl.col("time_s") + BIN_SECONDS * _spread(batch)).round(3)
    lasting = (low + (high - low) * _spread(row)).round(1)
    return (
        vms.with_columns(
            pl.format("azure-{}", row).alias("name"),
            pl.format("{}/{}/{}", "time_s", "batch", "flavor").alias("batch_name"),
            arrive.alias("arrive_seconds"),
            lasting.alias("lasting_seconds"),
        )
        .select(
            "name",
            pl.lit("vm").alias("class_name"),
            pl.col("batch_name").alias("batch"),
            (pl.col("vcpu") * 1000).round().cast(pl.Int64).alias("cpu_millicores"),
            (pl.col("memory_gb") * BYTES_PER_GB).round().cast(pl.Int64).alias("memory_bytes"),
            pl.lit(0, pl.Int64).alias("gpus"),
            "arrive_seconds",
            pl.col("arrive_seconds").alias("start_seconds"),
            pl.when(pl.col("censored"))
            .then(None)
            .otherwise(pl.col("arrive_seconds") + pl.col("lasting_seconds"))
            .alias("end_seconds"),
            pl.col("lasting_seconds").alias("running_seconds"),
            pl.lit("run").alias("outcome"),
        )
        .sort("arrive_seconds", maintain_order=True)
        .select(POD_COLUMNS)
    )


TRACE = TraceReader(
    name="azure",
    read_workload=read_azure,
    publication=Publication(
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
)
