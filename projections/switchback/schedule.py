"""Which blocks of cluster time act: drawn by pairs, from the seed alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from schemas.model import DataModel

CLUSTER: Final = ""
"""The unit of everything that belongs to no named namespace: nodes, and all else where blocks are by time."""
MOST_NAMESPACES: Final = 20
NAMESPACE = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"


class SwitchbackSettings(DataModel):
    """Acting and not acting in random blocks, so that the effect of acting can be estimated where no untouched
    world exists (docs/switchback.md). Executor and scoreboard both keep to it.
    """

    unit: Literal["off", "time", "namespace"] = "off"
    """off: the executor may always act. time: blocks act or hold as a whole; namespace: each of `namespaces` by a
    schedule of its own, and nodes and other namespaces by one more.
    """
    block_seconds: float = Field(default=1_800.0, ge=10, le=86_400)
    """Cluster seconds of a block. Blocks are counted from the Unix epoch, so those of half an hour begin on the half
    hour; make them longer than what the guard rails remember (`executor.cool_down_seconds`, `caps`, `budgets`).
    """
    wash_out_seconds: float = Field(default=600.0, ge=0)
    """Cluster seconds at the beginning of each block that do not count, until the effect of the block before has
    gone; less than `block_seconds`.
    """
    seed: int = Field(default=7, ge=0)
    """What the schedule is drawn from; unset: `run.seed`."""
    namespaces: tuple[str, ...] = Field(default=(), max_length=MOST_NAMESPACES)
    """Exact names, for unit namespace: at most 20, since every one makes the interval wider."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.wash_out_seconds >= self.block_seconds:
            raise ValueError(
                f"wash_out_seconds: use less than block_seconds ({self.block_seconds})"
            )
        if self.unit == "namespace" and not self.namespaces:
            raise ValueError("namespaces: name at least one for unit = 'namespace', or use 'time'")
        if len(set(self.namespaces)) != len(self.namespaces):
            raise ValueError("namespaces: name each once")
        return self

    @property
    def enabled(self) -> bool:
        """Whether any block holds."""
        return self.unit != "off"

    @property
    def units(self) -> tuple[str, ...]:
        """Unit that acts or holds by a schedule of its own."""
        return (CLUSTER, *self.namespaces) if self.unit == "namespace" else (CLUSTER,)

    def unit_of(self, namespace: str) -> str:
        """Return the unit of an object by its namespace; of one without, such as a node, the cluster's."""
        return namespace if namespace in self.units else CLUSTER

    def units_of(self, namespaces: Iterable[str]) -> tuple[str, ...]:
        """Return the units of objects by their namespaces, each once."""
        return tuple(dict.fromkeys(self.unit_of(namespace) for namespace in namespaces))

    def block_at(self, time_seconds: float) -> int:
        """Return the number of the block at a moment, unix seconds of cluster time."""
        return int(time_seconds // self.block_seconds)

    def end_of(self, block: int) -> float:
        """Return when a block ends, unix seconds of cluster time."""
        return (block + 1) * self.block_seconds

    def acts(self, block: int, unit: str = CLUSTER) -> bool:
        """Say whether a unit may be acted upon in a block."""
        return (block % 2 == 0) == acts_first(self.seed, block // 2, unit)

    def held_units(self, time_seconds: float, units: Sequence[str]) -> tuple[str, ...]:
        """Return those of some units that may not be acted upon at a moment."""
        block = self.block_at(time_seconds)
        return tuple(unit for unit in units if not self.acts(block, unit))


OFF: Final = SwitchbackSettings()


def acts_first(seed: int, pair: int, unit: str) -> bool:
    """Say whether a unit acts in the first block of a pair; it then holds in the second, or the other way round.

    A fair coin for each unit and pair, independent of all others: the first bit of a SHA-256.
    """
    digest = hashlib.sha256(f"switchback/{seed}/{pair}/{unit}".encode()).digest()
    return digest[0] < 128
