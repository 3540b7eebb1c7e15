"""The forecast that an action rests on, drawn: bands against what replicas bear, and what really came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from foresail.explanation.section import Section
from projections.figures import known_number, number, percent
from projections.foresight.action import AheadAction
from projections.foresight.log import Settled
from projections.foresight.text import action_text, minutes_text, outcome_texts, without_text
from projections.times import clock
from schemas.wording import count_text

BAR_COLUMNS = 44
MOST_DRAWN = 4
"""Actions of one decision that are drawn; of more only their number is said."""
WITHIN, BEYOND_BEFORE, BEYOND_AFTER = "-", "=", "#"
BEFORE, AFTER, MIDDLE, CAME = ":", "|", "+", "*"


def foresight_sections(cycle: int, found: Sequence[Settled]) -> Iterator[Section]:
    """Return a section for each action of the decision of that cycle that rests on a forecast."""
    drawn = [(one, place) for one in found for place in one.rise.places(cycle)]
    for one, place in drawn[:MOST_DRAWN]:
        yield Section("FORESEEN", list(_lines(one, place)), "cyan")
    more = len(drawn) - MOST_DRAWN
    if more > 0:
        yield Section("", [Text(f"and {more} more that rest on a forecast: --json has them")])


def _lines(one: Settled, place: int) -> Iterator[Text]:
    action, outcome = one.rise.actions[place], one.outcome
    ground = action.ground
    yield Text(
        f"{action.service} by {ground.model}, made {clock(ground.made_seconds)}; {_spoke(one)}",
        style="bold",
    )
    yield from _drawing(action, outcome.came[place])
    yield Text(
        f"chance to miss the objective: {percent(ground.chance_before)} with "
        f"{action.replicas_before} replicas, {percent(ground.chance_after)} with "
        f"{action.replicas_after}; without the forecast {without_text(action)}; new pods "
        f"take {number(ground.lead_seconds)} s"
    )
    more = one.rise.carried_out - 1
    others = "" if more < 1 else f"; {count_text(more, 'action')} more for the same rise"
    yield Text(f"{action_text(action, outcome)}{others}")
    for text in outcome_texts(one.rise, outcome):
        yield Text(text)


def _spoke(one: Settled) -> str:
    first, came = one.rise.first, one.outcome.rise_seconds
    said = f"first foreseen {clock(first.spoke_seconds)}"
    if came is None:
        return said
    return f"{said}, {minutes_text(came - first.spoke_seconds)} the rise ({clock(came)})"


def _drawing(action: AheadAction, came: Sequence[float | None]) -> Iterator[Text]:
    before, after = action.bears_before, action.bears_after
    known = [value for value in came if value is not None]
    top = max(1e-9, after, *known, *(band.high for band in action.bands))
    scale = f"0{number(top):>{BAR_COLUMNS - 1}}"
    yield Text(f"requests/s    10%  middle     90%    came  {scale}", style="dim")
    for band, value in zip(action.bands, came, strict=True):
        bar = _bar((band.low, band.middle, band.high), before, after, value, top)
        ends = (number(band.low), number(band.middle), number(band.high), known_number(value))
        decides = band.horizon_seconds == action.ground.horizon_seconds
        yield Text(
            f"{'>' if decides else ' '} {number(band.horizon_seconds / 60.0):>3} min"
            f"{''.join(f'{end:>8}' for end in ends)}  {bar}".rstrip(),
            style="bold" if decides else "",
        )
    yield Text(
        f"{BEFORE} {action.replicas_before} replicas bear {number(before)}, {AFTER} {action.replicas_after} "
        f"bear {number(after)}; the band is {WITHIN} below both, {BEYOND_BEFORE} beyond the first, "
        f"{BEYOND_AFTER} beyond both; {MIDDLE} middle, {CAME} came, > decides",
        style="dim",
    )


def _bar(
    ends: tuple[float, float, float], before: float, after: float, came: float | None, top: float
) -> str:
    """Draw a band from 0 to `top`."""

    def place(value: float) -> int:
        return min(BAR_COLUMNS - 1, max(0, round(value / top * (BAR_COLUMNS - 1))))

    low, middle, high = ends
    cells = [" "] * BAR_COLUMNS
    cells[place(before)], cells[place(after)] = BEFORE, AFTER
    for column in range(place(low), place(high) + 1):
        value = column / (BAR_COLUMNS - 1) * top
        if cells[column] == " ":
            cells[column] = (
                BEYOND_AFTER if value > after else BEYOND_BEFORE if value > before else WITHIN
            )
    cells[place(middle)] = MIDDLE
    if came is not None:
        cells[place(came)] = CAME
    return "".join(cells)
