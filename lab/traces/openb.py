"""Read the Alibaba openb trace (cluster-trace-gpu-v2023): a node list and a pod list.

Read as: LS, Guaranteed and Burstable pods are services, BE pods are tasks. A pod's life ends at
its deletion time, with its last seen phase as outcome; a Failed pod may have failed somewhat
earlier than that. Pods that were never placed arrive like others and are deleted when they were.
A share of one GPU counts as one GPU, because the Kubernetes resource is a whole number.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from lab.traces.trace_reader import APACHE, APACHE_URL, REDUCED, Publication, TraceReader
from lab.traces.workload_trace import (
    NODE_COLUMNS,
    POD_COLUMNS,
    PodClass,
    TraceFile,
    WorkloadTrace,
    hour_weights,
    require,
)

NODE_FILE = "k8s/openb_node_list.csv"
POD_FILE = "k8s/openb_pod_list.csv"
BYTES_PER_MIB = 2**20
REFERENCE_NODES = 100
CLASSES = (
    PodClass("ls", "service", 0),
    PodClass("guaranteed", "service", 0),
    PodClass("burstable", "service", 0),
    PodClass("be", "task", 0),
)


def read_openb(data_dir: Path) -> WorkloadTrace:
    """Read both lists; raises InputError when a file is missing."""
    nodes = _nodes(pl.read_csv(require(data_dir, NODE_FILE)))
    raw = pl.read_csv(require(data_dir, POD_FILE))
    return WorkloadTrace(
        name="openb",
        nodes=nodes,
        pods=_pods(raw),
        classes=CLASSES,
        end_seconds=float(raw.select(pl.col("deletion_time").max()).item()),
        reference_nodes=REFERENCE_NODES,
        reference_note=(
            f"the pods of {len(nodes)} trace nodes are played on {REFERENCE_NODES} nodes: by its "
            "own times the pod list never requests more than 0.5 % of the node list's cpu"
        ),
        hour_weights=hour_weights(raw["creation_time"]),
        dropped="no row",
        files=(
            TraceFile(NODE_FILE, "machine shapes"),
            TraceFile(POD_FILE, "requests, arrivals, durations, outcomes"),
        ),
    )


def _nodes(raw: pl.DataFrame) -> pl.DataFrame:
    model = pl.col("model").fill_null("")
    gpu_part = pl.when(pl.col("gpu") > 0).then(pl.format("-{}x{}", "gpu", model.str.to_lowercase()))
    shape = pl.format("{}c-{}g", pl.col("cpu_milli") // 1000, pl.col("memory_mib") // 1024)
    return raw.select(
        pl.col("sn").alias("name"),
        (shape + gpu_part.otherwise(pl.lit(""))).alias("shape"),
        pl.col("cpu_milli").alias("cpu_millicores"),
        (pl.col("memory_mib") * BYTES_PER_MIB).alias("memory_bytes"),
        pl.col("gpu").alias("gpus"),
        model.alias("gpu_model"),
    ).select(NODE_COLUMNS)


def _pods(raw: pl.DataFrame) -> pl.DataFrame:
    outcome = (
        pl.when(pl.col("pod_phase") == "Failed")
        .then(pl.lit("fail"))
        .when(pl.col("pod_phase") == "Succeeded")
        .then(pl.lit("succeed"))
        .otherwise(pl.lit("run"))
    )
    # The collection ended at the last deletion time: what carries it was still there.
    last = pl.col("deletion_time").max()
    still_there = (pl.col("deletion_time") == last) & (outcome == "run")
    began = pl.coalesce("scheduled_time", "creation_time")
    request = ("cpu_milli", "memory_mib", "num_gpu")
    return raw.select(
        pl.col("name"),
        pl.col("qos").str.to_lowercase().alias("class_name"),
        pl.concat_str("creation_time", "qos", *request, separator="/").alias("batch"),
        pl.col("cpu_milli").alias("cpu_millicores"),
        (pl.col("memory_mib") * BYTES_PER_MIB).alias("memory_bytes"),
        pl.col("num_gpu").alias("gpus"),
        pl.col("creation_time").cast(pl.Float64).alias("arrive_seconds"),
        pl.col("scheduled_time").cast(pl.Float64).alias("start_seconds"),
        pl.when(still_there)
        .then(None)
        .otherwise(pl.col("deletion_time"))
        .cast(pl.Float64)
        .alias("end_seconds"),
        (pl.col("deletion_time") - began).cast(pl.Float64).alias("running_seconds"),
        outcome.alias("outcome"),
    ).select(POD_COLUMNS)


TRACE = TraceReader(
    name="openb",
    read_workload=read_openb,
    publication=Publication(
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
)
