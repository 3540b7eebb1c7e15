"""What an episode on a trace is played with."""

from __future__ import annotations

from dataclasses import dataclass

from bus.errors import InputError

PROFILE = "baseline-rules"
MODELS = ("given/1", "given-or-live/1", "seed-formula/1")


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
