"""The end of a run on a cluster of the user's own: the executor takes back what still stands there.

The wish is an `undo` of the operator's, so the log tells it, and the same guards judge every write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bus.clock import Clock
from bus.errors import BusUnavailable, Permanent
from bus.nats_adapter import NatsBus
from foresail.settings import StackSettings
from foresail.stack.log_server import LogServer
from foresail.stack.operator_command import publish_command
from foresail.stack.watch import Watch
from projections.figures import duration
from projections.overview import Overview
from projections.standing_actions import StandingAction
from schemas.control import EVERYTHING, Command
from schemas.identity import Origin
from schemas.outcome import Mode
from schemas.wording import count_text

MOST_SECONDS = 60.0
"""Wall time that taking back may use: some actions at a few requests each, beside a slow server."""
PAUSE_SECONDS = 0.2
REASON = "the run ends"
END = "end-of-run"
"""Nonce of the wish: a run ends once."""
KEPT = "--keep was given"


@dataclass(frozen=True, slots=True)
class UndoneAtEnd:
    """What became of what stood at the end of a run."""

    taken_back: int
    left: tuple[StandingAction, ...]
    """What stands when the run is over."""
    because: str
    """Why it was left; empty where everything was taken back."""

    def text(self) -> str:
        """Return it as one line for people; empty where nothing stood."""
        count = self.taken_back
        parts = [f"{count_text(count, 'action was', 'actions were')} taken back"] if count else []
        if self.left:
            names = ", ".join(one.name for one in self.left)
            parts.append(f"of cycles {names} something is left on the cluster: {self.because}")
        return "; ".join(parts)


def summary_of(given_back: UndoneAtEnd | None) -> dict[str, Any]:
    """Return what a run's summary says of it; `given_back_short` where something was left that nobody keeps."""
    if given_back is None:
        return {}
    left = [one.name for one in given_back.left]
    return {
        "given_back": {"taken_back": given_back.taken_back, "left": left},
        "given_back_text": given_back.text(),
        "given_back_short": bool(left) and given_back.because != KEPT,
    }


def why_kept(settings: StackSettings, overview: Overview) -> str:
    """Return why a run leaves what stands at its end; empty where it takes it back."""
    if settings.run.keep:
        return KEPT
    if overview.run.operating.killed:
        return "the kill switch is on"
    if overview.run.operating.mode == Mode.SHADOW:
        return "the executor is in shadow mode"
    return ""


async def undo_at_end(
    settings: StackSettings, watch: Watch, log: LogServer, origin: Origin, clock: Clock
) -> UndoneAtEnd | None:
    """Have everything taken back that stands on a cluster of the user's own, and wait for it.

    Returns:
        None on the simulated cluster, which ends with the run, and where nothing stands.
    """
    before = watch.overview.standing.actions
    if settings.run.kubeconfig is None or not before:
        return None
    kept = why_kept(settings, watch.overview)
    if kept:
        return UndoneAtEnd(0, before, kept)
    try:
        bus = await NatsBus.connect(
            log.url, cluster=origin.cluster, stream=log.stream, login=log.logins["operator"]
        )
        try:
            await publish_command(bus, origin, Command.UNDO, EVERYTHING, REASON, nonce=END)
        finally:
            await bus.close()
    except (BusUnavailable, Permanent) as error:
        return UndoneAtEnd(0, before, str(error))
    deadline = clock.monotonic() + MOST_SECONDS
    while clock.monotonic() < deadline and _is_open(watch, before):
        await clock.sleep(PAUSE_SECONDS)
    left = watch.overview.standing.actions
    trouble = next((one.trouble for one in left if one.trouble), "")
    because = trouble or f"the executor did not answer within {duration(MOST_SECONDS)}"
    return UndoneAtEnd(len(before) - len(left), left, because if left else "")


def _is_open(watch: Watch, before: Sequence[StandingAction]) -> bool:
    """Say whether something stands that was not tried since `before`."""
    tries = {one.name: one.failed_tries for one in before}
    return any(
        one.failed_tries <= tries.get(one.name, 0) for one in watch.overview.standing.actions
    )
