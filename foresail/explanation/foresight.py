"""The forecast that an action rests on, drawn: bands against what replicas bear, and what really came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from foresail.explanation.section import Section
from projections.figures import known_number, number, percent
from projections.foresight.action import AheadAction, AheadOutcome
from projections.foresight.log import Settled
from projections.foresight.text import minutes_text, outcome_texts, without_text
from projections.times import clock

BAR_COLUMNS = 44
MOST_DRAWN = 4
"""Actions of one decision that are drawn; of more only their number is said."""
WITHIN, BEYOND_BEFORE, BEYOND_AFTER = "-", "=", "#"
BEFORE, AFTER, MIDDLE, CAME = ":", "|", "+", "*"


def foresight_sections(found: Sequence[Settled]) -> Iterator[Section]:
    """Return a section for each action of the decision that rests on a forecast."""
    for one in found[:MOST_DRAWN]:
        yield Section("FORESEEN", list(_lines(one.action, one.outcome)), "cyan")
    more = len(found) - MOST_DRAWN
    if more > 0:
        yield Section("", [Text(f"and {more} more that rest on a forecast: --json has them")])


def _lines(action: AheadAction, outcome: AheadOutcome) -> Iterator[Text]:
    ground = action.ground
    yield Text(
        f"{action.service} by {ground.model}, made {clock(ground.made_seconds)}; "
        f"{_spoke(action, outcome)}",
        style="bold",
    )
    yield from _drawing(action, outcome)
    yield Text(
        f"chance to miss the objective: {percent(ground.chance_before)} with "
        f"{action.replicas_before} replicas, {percent(ground.chance_after)} with "
        f"{action.replicas_after}; without the forecast {without_text(action)}; new pods "
        f"take {number(ground.lead_seconds)} s"
    )
    for text in outcome_texts(action, outcome):
        yield Text(text)


def _spoke(action: AheadAction, outcome: AheadOutcome) -> str:
    said = f"first foreseen {clock(action.spoke_seconds)}"
    if outcome.rise_seconds is None:
        return said
    ahead = outcome.rise_seconds - action.spoke_seconds
    return f"{said}, {minutes_text(ahead)} the rise ({clock(outcome.rise_seconds)})"


def _drawing(action: AheadAction, outcome: AheadOutcome) -> Iterator[Text]:
    before, after = action.bears_before, action.bears_after
    known = [came for came in outcome.came if came is not None]
    top = max(1e-9, after, *known, *(band.high for band in action.bands))
    scale = f"0{number(top):>{BAR_COLUMNS - 1}}"
    yield Text(f"requests/s    10%  middle     90%    came  {scale}", style="dim")
    for band, came in zip(action.bands, outcome.came, strict=True):
        bar = _bar((band.low, band.middle, band.high), before, after, came, top)
        ends = (number(band.low), number(band.middle), number(band.high), known_number(came))
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
