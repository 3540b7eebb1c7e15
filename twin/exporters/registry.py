"""All families, and the page that a Prometheus scrapes."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import lru_cache

from twin.engine import Engine
from twin.exporters.family import Exporters, LabelValues, Row, expand
from twin.exporters.job_work import JOB_WORK
from twin.exporters.machines import CADVISOR, NODE_EXPORTERS
from twin.exporters.nodes import NODES
from twin.exporters.pods import PODS
from twin.exporters.requests import REQUESTS
from twin.exporters.services import SERVICES
from twin.exporters.workloads import WORKLOADS

PIECE_ROWS = 1_000
"""Samples that are read, or written, before others have their turn: some milliseconds."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PAGE = Exporters(
    (NODES, PODS, *WORKLOADS), (NODE_EXPORTERS, CADVISOR, REQUESTS, JOB_WORK, SERVICES)
)
"""What `GET /metrics` shows."""


def exposition(engine: Engine, wanted: str = "") -> Generator[bytes, None, None]:
    """Yield metrics in Prometheus' text format, in pieces, some of them empty: between two pieces others may
    have their turn, so a long page may show more than one moment.

    Args:
        engine: what is shown.
        wanted: names of families, separated by commas; empty: all.
    """
    names = frozenset(wanted.split(",")) if wanted else frozenset(PAGE.families)
    families: dict[str, list[str]] = {name: [] for name in PAGE.families if name in names}
    samples = {
        name: families[family.name]
        for name, (family, _) in PAGE.labels.items()
        if family.name in families
    }
    for number, (name, values, value) in enumerate(_rows(engine, names)):
        lines = samples.get(name)
        if lines is not None:
            lines += [f"{series} {value!r}" for series in _series(name, values)]
        if number % PIECE_ROWS == PIECE_ROWS - 1:
            yield b""
    for name, rows in families.items():
        family = PAGE.families[name]
        lines = [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}", *rows]
        for begin in range(0, len(lines), PIECE_ROWS):
            yield "".join(f"{line}\n" for line in lines[begin : begin + PIECE_ROWS]).encode()


def _rows(engine: Engine, names: frozenset[str]) -> Iterator[Row]:
    """Yield the rows of every group that has one of these families."""
    for group in PAGE.objects:
        if names.isdisjoint(family.name for family in group.families):
            continue
        for record in list(engine.store.records(group.resource)):
            yield from group.rows(record)
    for live in PAGE.engines:
        if not names.isdisjoint(family.name for family in live.families):
            yield from live.rows(engine)


@lru_cache(maxsize=8_192)  # the same few at each look, of a cluster that is looked at often
def _series(name: str, values: LabelValues) -> tuple[str, ...]:
    """Return name and labels of each series behind a row."""
    family, labels = PAGE.labels[name]
    lines = []
    for texts in expand(values):
        shown = [*zip(labels, texts, strict=True), *family.constant]
        inner = ",".join(f'{label}="{_escape_label(text)}"' for label, text in shown)
        lines.append(f"{name}{{{inner}}}")
    return tuple(lines)


def _escape_label(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
