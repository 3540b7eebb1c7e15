"""Mode and hold of the executor, from configuration and the operator's commands."""

from __future__ import annotations

from projections.operating import OperatingState, operating_after
from schemas.config import Config
from schemas.control import Command, Control
from schemas.model import EventData
from tests.builders import START_SECONDS


def after(*events: EventData) -> OperatingState:
    """Return the state after some events."""
    state = OperatingState()
    for event in events:
        state = operating_after(state, event)
    return state


def command(what: Command, at: float = 0.0, value: str = "", text: str = "") -> Control:
    """Return a command, `at` seconds after the start."""
    return Control(
        command=what,
        nonce=f"{what}{at}",
        wall_time_seconds=START_SECONDS + at,
        value=value,
        text=text,
    )


def executor_config(mode: str) -> Config:
    """Return what the executor announces at its start."""
    return Config(process="executor", settings={"mode": mode}, config_hash="x", code_version="1")


def test_a_hold_says_since_when_and_why() -> None:
    """From the command that began it until resume."""
    held = after(command(Command.PAUSE, 7.0, text="lunch"), command(Command.PAUSE, 9.0))
    assert held.hold == "pause"
    assert held.hold_text().startswith("PAUSED since 2026-01-01 00:00:07 UTC wall time (lunch)")
    assert operating_after(held, command(Command.RESUME)).hold == ""


def test_a_kill_is_more_than_a_pause() -> None:
    """It dates anew, and a pause after it takes nothing away."""
    killed = after(
        command(Command.PAUSE, 1.0), command(Command.KILL, 5.0), command(Command.PAUSE, 8.0)
    )
    assert killed.hold == "kill"
    assert killed.held_since_seconds == START_SECONDS + 5.0


def test_the_commanded_mode_goes_before_the_configured_one() -> None:
    """Also after the executor has started again with its settings, as in the executor itself."""
    assert after(executor_config("active")).mode == "active"
    shadow = after(
        executor_config("active"), command(Command.MODE, value="shadow"), executor_config("active")
    )
    assert shadow.mode == "shadow"
    assert (
        after(executor_config("active"), command(Command.MODE, value="nonsense")).mode == "active"
    )
