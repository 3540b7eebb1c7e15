"""What an episode on a trace is played with."""

from __future__ import annotations

from dataclasses import dataclass

from bus.errors import InputError
from lab.traces.common_options import AS_IT_IS, CommonOptions

PROFILE = "baseline-rules"
FORMS = ("trace", "metrics", "common", "google2011", "google2019")
"""Of files that can be played."""
TABLES = FORMS[2:]
"""Those that are tables of events, of which rows are made."""
MODELS = ("given/1", "given-or-live/1", "seed-formula/1")


@dataclass(frozen=True, slots=True)
class TableChoice:
    """Which rows are made of a trace's tables, and how."""

    interval_seconds: float = 300.0
    """How long the stretch of a row is."""
    offset: int = 0
    most_rows: int | None = None
    most_nodes: int | None = None
    most_tasks: int = 64
    """Tasks that a row lists; all are counted, and those that died are all listed."""
    node_size: tuple[float, float] = (1.0, 1.0)
    """CPU and memory of a node, in the trace's unit, where no table of machines says it."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What an episode is played with."""

    profile: str = PROFILE
    model: str = MODELS[0]
    """Who foresees: `given/1` takes what the rows say."""
    most_rows: int | None = None
    most_nodes: int | None = None
    """The first so many nodes by name."""
    offset: int = 0
    """Rows left out at the beginning."""
    cluster: str = "trace"
    form: str | None = None
    """Of the file, of `FORMS`; None: a trace or metrics, whichever it is."""
    cell: str | None = None
    """The one cluster of the tables that is played; None: all."""
    interval_seconds: float | None = None
    """How long the stretch of a row is, where rows are made; None: a minute of metrics, five of tables."""
    most_tasks: int = 64
    node_size: tuple[float, float] = (1.0, 1.0)
    common: CommonOptions = AS_IT_IS

    @property
    def tables(self) -> TableChoice:
        """What is made of tables."""
        return TableChoice(
            self.interval_seconds or 300.0,
            self.offset,
            self.most_rows,
            self.most_nodes,
            self.most_tasks,
            self.node_size,
        )

    def check(self) -> None:
        """Refuse numbers that leave nothing to play.

        Raises:
            InputError: one does not fit.
        """
        if self.offset < 0:
            raise InputError("--offset", self.offset, "give 0 or more")
        for flag, number in (("--max-rows", self.most_rows), ("--max-nodes", self.most_nodes)):
            if number is not None and number < 1:
                raise InputError(flag, number, "give 1 or more")
        if self.interval_seconds is not None and self.interval_seconds <= 0:
            raise InputError("--interval", self.interval_seconds, "give more than 0")
        for flag, size in zip(("--node-cpu", "--node-memory"), self.node_size, strict=True):
            if not size > 0:
                raise InputError(flag, size, "give more than 0")
        if self.form not in TABLES:
            self._check_tables_alone()
        if self.form != "common" and self.common.given:
            flag, value = next(iter(self.common.given.items()))
            remedy = "it is of --form common alone; leave it out"
            raise InputError(f"--{flag.replace('_', '-')}", value, remedy)

    def _check_tables_alone(self) -> None:
        if self.cell is not None:
            raise InputError("--cell", self.cell, f"it is of --form {', '.join(TABLES)}")
