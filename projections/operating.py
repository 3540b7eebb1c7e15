"""The executor's mode and the operator's hold, as configuration and commands in the log make them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from projections.times import wall_time
from schemas.config import Config
from schemas.control import Command, Control
from schemas.model import EventData
from schemas.outcome import Mode, OutcomeExecution

EXECUTOR = "executor"
MODES = frozenset(mode.value for mode in Mode)


@dataclass(frozen=True, slots=True)
class OperatingState:
    """Permissions of the executor now."""

    configured_mode: str = ""
    """Of the executor's settings; empty before it announced them."""
    commanded_mode: str = ""
    """Of the newest `mode` command, which goes before the settings."""
    killed: bool = False
    paused: bool = False
    held_since_seconds: float = 0.0
    """Wall time of the command that began the hold, by the operator's clock."""
    reason: str = ""
    """The operator's note on the hold."""

    @property
    def mode(self) -> str:
        """`shadow` or `active`; empty while it is not known."""
        return self.commanded_mode or self.configured_mode

    @property
    def hold(self) -> str:
        """`kill`, `pause`, or empty while nothing holds the executor."""
        return "kill" if self.killed else "pause" if self.paused else ""

    def hold_text(self) -> str:
        """Return the hold as one line for people; empty without one."""
        if not self.hold:
            return ""
        word = "KILLED" if self.killed else "PAUSED"
        since = wall_time(self.held_since_seconds)
        note = f" ({self.reason})" if self.reason else ""
        return f"{word} since {since}{note}: nothing is executed until `foresail resume`"


def operating_after(state: OperatingState, data: EventData) -> OperatingState:
    """Return the state after one event; most events do not change it."""
    match data:
        case Control():
            return _apply_control(state, data)
        case Config(process="executor", settings=settings):
            return replace(state, configured_mode=str(settings.get("mode") or ""))
        case OutcomeExecution(mode=mode) if not state.mode:
            return replace(state, configured_mode=str(mode))
        case _:
            return state


def _apply_control(state: OperatingState, control: Control) -> OperatingState:
    match control.command:
        case Command.KILL | Command.PAUSE:
            killed = state.killed or control.command is Command.KILL
            begins = not state.hold or (killed and not state.killed)
            since = control.wall_time_seconds if begins else state.held_since_seconds
            return replace(
                state,
                killed=killed,
                paused=state.paused or control.command is Command.PAUSE,
                held_since_seconds=since,
                reason=control.text if begins else state.reason,
            )
        case Command.RESUME:
            return replace(state, killed=False, paused=False, held_since_seconds=0.0, reason="")
        case Command.MODE if control.value in MODES:
            return replace(state, commanded_mode=control.value)
        case _:
            return state
