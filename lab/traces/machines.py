"""Machines of traces that publish none as a table: counts from documents, or stated assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from lab.traces.workload_trace import NODE_COLUMNS

BYTES_PER_GIB = 2**30


class MachineKind(NamedTuple):
    """Equal machines: how many, how large."""

    machines: int
    cores: int
    memory_gib: int
    gpus: int
    gpu_model: str


def machine_rows(prefix: str, kinds: Sequence[MachineKind]) -> pl.DataFrame:
    """One row per machine in the trace form's columns, named `<prefix>-0000` onwards."""
    rows: list[dict[str, object]] = []
    for kind in kinds:
        gpu_part = f"-{kind.gpus}x{kind.gpu_model.lower()}" if kind.gpus else ""
        shape = f"{kind.cores}c-{kind.memory_gib}g{gpu_part}"
        for _ in range(kind.machines):
            rows.append(
                {
                    "name": f"{prefix}-{len(rows):04d}",
                    "shape": shape,
                    "cpu_millicores": kind.cores * 1000,
                    "memory_bytes": kind.memory_gib * BYTES_PER_GIB,
                    "gpus": kind.gpus,
                    "gpu_model": kind.gpu_model,
                }
            )
    return pl.DataFrame(rows).select(NODE_COLUMNS)
