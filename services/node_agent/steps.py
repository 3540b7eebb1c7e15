"""From what is wanted and what is there to writes, with the way back kept before each of them; pure.

A knob is lowered, never raised beyond what was there before us. What somebody else has raised since is theirs: a clock
limit is then given up until another one is asked for. The CPU quota is in a cgroup of ours, where systemd alone resets
it now and then, so it is written again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from schemas.node_annotations import NodeLimit
from schemas.node_limits import LimitState, RefusedBecause
from services.node_agent.kept import Change, Kept
from services.node_agent.machine import CPU_MAX, Machine, height, limit_of
from services.node_agent.wishes import Wish


@dataclass(frozen=True, slots=True)
class Write:
    """A knob and the text that it gets."""

    knob: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """What is done at one look at the machine."""

    wishes: tuple[Wish, ...]
    """With those refused that somebody else has raised."""
    before: Kept
    """Stored before the first write: the way back, whether or not the writes happen."""
    writes: tuple[Write, ...]
    after: Kept
    """What stands once every write has happened."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """What becomes of one knob."""

    write: str | None = None
    before: Change | None = None
    after: Change | None = None


def plan_step(kept: Kept, wishes: Sequence[Wish], machine: Machine) -> Step:
    """Return the writes that make the machine what is wanted."""
    values = machine.values()
    given_up = tuple(one for one in kept.given_up if any(one == wish.request for wish in wishes))
    raised = {
        limit_of(change.knob)
        for change in kept.changes
        if change.knob in values and change.knob != CPU_MAX and _is_raised(change, values)
    }
    judged = tuple(_give_up(wish, raised, given_up) for wish in wishes)
    given_up += tuple(
        wish.request
        for wish in judged
        if wish.reason is RefusedBecause.CHANGED_BY_OTHER and wish.request not in given_up
    )
    wanted = {knob: text for wish in judged for knob, text in wish.values.items()}
    knobs = dict.fromkeys((*(change.knob for change in kept.changes), *wanted))
    turns = {
        knob: _turn(knob, values.get(knob), wanted.get(knob), kept.change(knob)) for knob in knobs
    }
    return Step(
        wishes=judged,
        before=_kept(kept.boot, [turn.before for turn in turns.values()], given_up),
        writes=tuple(Write(knob, turn.write) for knob, turn in turns.items() if turn.write),
        after=_kept(kept.boot, [turn.after for turn in turns.values()], given_up),
    )


def settle(kept: Kept, step: Step, failed: Mapping[str, str], machine: Machine) -> Kept:
    """Return what stands after the writes of a step.

    Args:
        kept: what stood before it.
        step: with its writes.
        failed: what the kernel said of each knob that it did not take.
        machine: as it was read back.
    """
    values = machine.values()
    standing = []
    knobs = dict.fromkeys(one.knob for one in (*step.before.changes, *step.after.changes))
    for knob in knobs:
        change = kept.change(knob) if knob in failed else step.after.change(knob)
        if change is not None and knob in values and knob not in failed:
            shown = values[knob]
            more = height(knob, shown) > height(knob, change.ours)
            written = any(write.knob == knob for write in step.writes)
            change = change.model_copy(update={"ours": shown}) if more and written else change
        standing.append(change)
    return _kept(kept.boot, standing, step.after.given_up)


def _kept(boot: str, changes: Sequence[Change | None], given_up: tuple[object, ...]) -> Kept:
    there = tuple(change for change in changes if change is not None)
    return Kept.model_validate({"boot": boot, "changes": there, "given_up": given_up})


def _is_raised(change: Change, values: Mapping[str, str]) -> bool:
    return height(change.knob, values[change.knob]) > height(change.knob, change.ours)


def _give_up(wish: Wish, raised: set[NodeLimit], given_up: Sequence[object]) -> Wish:
    limit = wish.request.limit
    if not wish.values or (limit not in raised and wish.request not in given_up):
        return wish
    text = f"{limit.word} {wish.request.value}: somebody else has raised it since, and theirs holds"
    return replace(
        wish,
        values={},
        state=LimitState.REFUSED,
        reason=RefusedBecause.CHANGED_BY_OTHER,
        text=text,
    )


def _turn(knob: str, shown: str | None, wanted: str | None, change: Change | None) -> _Turn:
    if shown is None:  # a CPU that was taken out: its limit waits for it
        return _Turn(before=change, after=change)
    if change is None:
        return _first_turn(knob, shown, wanted)
    raised = height(knob, shown) > height(knob, change.ours)
    if wanted is None:
        return _Turn() if raised else _Turn(write=change.former, before=change)
    if height(knob, wanted) >= height(knob, change.former):  # what was there before is limit enough
        return _Turn(write=change.former, before=change)
    if wanted == change.ours and not raised:
        return _Turn(before=change, after=change)
    higher = max(change.ours, wanted, key=lambda text: height(knob, text))
    return _Turn(
        write=wanted,
        before=change.model_copy(update={"ours": higher}),
        after=change.model_copy(update={"ours": wanted}),
    )


def _first_turn(knob: str, shown: str, wanted: str | None) -> _Turn:
    if wanted is None or height(knob, shown) <= height(knob, wanted):
        return _Turn()
    change = Change(knob=knob, former=shown, ours=wanted)
    return _Turn(write=wanted, before=change, after=change)
