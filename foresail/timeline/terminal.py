"""An incident drawn in the terminal: what happened, its lag, and where on the way it was."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from projections.figures import number
from projections.incidents.incident import DamageKind, Incident, IncidentKind, Lane, Step
from projections.score.text import OVERLAP
from projections.times import clock, cluster_clock
from schemas.wording import count_text

BAR_COLUMNS = 22
SHOWN_PLACES = 4
BEFORE_SECONDS = 120.0
TITLES = {
    IncidentKind.NODE_FAILURE: "node failure",
    IncidentKind.HPA_LAG: "autoscaler lag",
    IncidentKind.UNSCHEDULABLE_BURST: "unschedulable burst",
    IncidentKind.PODS_WAITING: "pods waiting",
    IncidentKind.FAILING_PODS: "failing pods",
    IncidentKind.RISE_FORESEEN: "rise of demand foreseen",
}
ACTING_STYLES = {"helps": "green", "harms": "red", "no difference": "", "": "dim"}
STYLES = {
    Lane.DEMAND: "magenta",
    Lane.PREDICTION: "cyan",
    Lane.FORESAIL: "green",
    Lane.NODE: "bold",
    Lane.UNTOUCHED: "red",
}


def duration_text(seconds: float) -> str:
    """Write a duration shortly: `45 s`, `6 min 05 s`, `2 h 03 min`."""
    whole = round(abs(seconds))
    if whole < 120:
        return f"{number(abs(seconds))} s" if whole < 10 else f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def lag(seconds: float) -> str:
    """Write a time from the beginning: `+0:45`, `-12:03`, `+1:02:03`."""
    whole = round(abs(seconds))
    sign = "-" if seconds < 0 and whole else "+"
    minutes = f"{whole // 60 % 60:02}" if whole >= 3600 else str(whole // 60)
    hours = f"{whole // 3600}:" if whole >= 3600 else ""
    return f"{sign}{hours}{minutes}:{whole % 60:02}"


def incident_view(incident: Incident, omitted: int = 0, unreadable: int = 0) -> RenderableType:
    """Return the whole chain with its heading and the waits, and what is missing from it."""
    table = Table.grid(padding=(0, 1))
    for width in (8, 8, 10, BAR_COLUMNS):
        table.add_column(width=width, no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    left, right = window_of(incident)
    for step in incident.steps:
        table.add_row(*_row(step, left, right))
    lines: list[RenderableType] = [*heading(incident), Text(), table]
    if omitted:
        text = f"{omitted} reactions were left out of their events: counts here are too small"
        lines.append(Text(text, style="yellow"))
    if unreadable:
        text = f"{count_text(unreadable, 'message')} of the log cannot be read by this version and had to be left out"
        lines.append(Text(text, style="yellow"))
    return Group(*lines)


def heading(incident: Incident) -> list[Text]:
    """Return the lines above the chain."""
    end = incident.end_seconds
    closed = f"over after {duration_text(end_of(incident) - incident.begin_seconds)}"
    state = closed if end is not None else "still going on"
    title = Text(f"incident {incident.number}: {TITLES[incident.kind]}", style="bold")
    when = f"{clock(incident.begin_seconds)} to {cluster_clock(end_of(incident))}"
    title.append(f"   {when}, {state}", "dim")
    return [
        title,
        Text(f"where       {places(incident)}"),
        Text(f"prediction  {lead(incident)}", style="cyan"),
        *(Text(f"waited      {wait}", style="yellow") for wait in waiting_lines(incident)),
        Text(f"acting      {acting_line(incident)}", style=ACTING_STYLES[_verdict(incident)]),
    ]


def acting_line(incident: Incident) -> str:
    """Return what acting changed in the incident's cycles, or that nobody knows."""
    change = incident.acting
    if change is None:
        return "not known: no untouched world was compared in that time"
    if change.verdict == "no difference":
        return f"no difference: {change.text}"
    return f"{change.verdict}: {change.text} {OVERLAP}"


def _verdict(incident: Incident) -> str:
    return "" if incident.acting is None else incident.acting.verdict


def places(incident: Incident) -> str:
    """Return the nodes and workloads shortly."""
    named = [*incident.nodes, *incident.workloads]
    if len(named) > SHOWN_PLACES:
        named = [*named[: SHOWN_PLACES - 1], f"{len(named) - SHOWN_PLACES + 1} more"]
    return ", ".join(named) or "nowhere in particular"


def lead(incident: Incident) -> str:
    """Return what each model's lead over the first damage, or the rise, was."""
    texts = []
    damage = damage_words(incident)
    for alarm in incident.alarms:
        name = f"{alarm.model_id}{' (shadow)' if alarm.shadow else ''}"
        if alarm.lead_seconds is None:
            texts.append(f"{name} announced nothing: a risk had stood above its threshold for long")
        elif alarm.lead_seconds > 0:
            texts.append(f"{name} led {damage} by {duration_text(alarm.lead_seconds)}")
        elif alarm.lead_seconds == 0:
            texts.append(f"{name} spoke with {damage}")
        else:
            texts.append(f"{name} spoke {duration_text(alarm.lead_seconds)} after {damage}")
    return "; ".join(texts) or "no model said so: no risk came to an action threshold"


def damage_words(incident: Incident) -> str:
    """Return what a prediction leads or follows."""
    if incident.kind is not IncidentKind.RISE_FORESEEN:
        return "the first visible damage"
    if not incident.spans:
        return "the rise"
    first = min(incident.spans, key=lambda span: (span.begin_seconds, span.kind))
    here = first.kind is DamageKind.REQUESTS
    return f"the first failed requests {'here' if here else 'in the world without us'}"


def waiting_lines(incident: Incident) -> list[str]:
    """Return one line for each class of reason for which pods waited."""
    return [
        f"{count_text(wait.pods, 'pod')} for {wait.pending_class}: "
        f"median {duration_text(wait.median_seconds)}, at most {duration_text(wait.max_seconds)}"
        + (f", {wait.still_waiting} still do" if wait.still_waiting else "")
        for wait in incident.waits
    ]


def list_view(incidents: Sequence[Incident]) -> Table:
    """Return every incident as one row."""
    table = Table(box=None, pad_edge=False)
    for column in ("no.", "kind", "from (cluster time)", "lasted", "waited", "lead", "where"):
        table.add_column(column, overflow="fold")
    for incident in incidents:
        pods = sum(wait.pods for wait in incident.waits)
        open_ = "" if incident.end_seconds is not None else "+"
        ahead = incident.lead_seconds
        table.add_row(
            str(incident.number),
            TITLES[incident.kind],
            clock(incident.begin_seconds),
            duration_text(end_of(incident) - incident.begin_seconds) + open_,
            count_text(pods, "pod") if pods else "",
            "none" if ahead is None else f"{'' if ahead >= 0 else '-'}{duration_text(ahead)}",
            places(incident),
        )
    return table


def end_of(incident: Incident) -> float:
    """Return when it was over, or the newest time there is."""
    return incident.last_seconds if incident.end_seconds is None else incident.end_seconds


def _row(step: Step, left: float, right: float) -> tuple[RenderableType, ...]:
    style = "red" if step.damage else STYLES.get(step.lane, "")
    text = Text(step.text, style=style)
    text.append(lag_words(step), style="dim")
    return (
        Text(clock(step.time_seconds), style="dim"),
        Text(lag(step.since_begin_seconds), justify="right"),
        Text(step.lane, style=style),
        Text(_bar(step, left, right), style=style),
        text,
    )


def window_of(incident: Incident) -> tuple[float, float]:
    """Return what is drawn: not more before the beginning than what follows it, or two minutes.

    What came earlier stands at the left edge.
    """
    end = max([end_of(incident), *(step.until_seconds for step in incident.steps)])
    begin = min([incident.begin_seconds, *(step.time_seconds for step in incident.steps)])
    before = max(BEFORE_SECONDS, end - incident.begin_seconds)
    return max(begin, incident.begin_seconds - before), end


def lag_words(step: Step) -> str:
    """Return the lag that the events themselves state, e.g. ` (3 s after scheduled)`."""
    if step.lag_median_seconds is None or not step.lag_since:
        return ""
    most = ""
    if step.count > 1 and step.lag_max_seconds != step.lag_median_seconds:
        most = f", at most {duration_text(step.lag_max_seconds or 0.0)}"
    since = step.lag_since.replace("_", " ")
    return f" ({duration_text(step.lag_median_seconds)}{most} after {since})"


def _bar(step: Step, left: float, right: float) -> str:
    """Draw a step on the way from left to right: a point, or a line where it took longer."""

    def place(at: float) -> int:
        share = (at - left) / (right - left) if right > left else 0.0
        return min(BAR_COLUMNS - 1, max(0, round(share * (BAR_COLUMNS - 1))))

    first, last = place(step.time_seconds), place(step.until_seconds)
    mark = "x" if step.damage else "o"
    body = mark if last == first else mark + "-" * (last - first - 1) + mark
    return "." * first + body + "." * (BAR_COLUMNS - first - len(body))
