"""Where the fitted figures come from: titles, licences and attributions of the traces used."""

from __future__ import annotations

from hashlib import file_digest
from pathlib import Path

import polars as pl

from lab.traces.registry import TRACES
from lab.traces.workload_trace import TraceFile, require
from twin.port.workloads import Provenance, SourceFile


def provenance(name: str, data_dir: Path, used: tuple[TraceFile, ...]) -> Provenance:
    """Publication facts of trace `name` with the sha256 of each file that was used."""
    source = TRACES[name].publication
    assert source is not None, name
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
