"""One screen on what an autoscaler wants: each metric, which rules, what holds it back, and what it says itself."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from foresail.explanation.scheduling_screen import names_text
from lab.explanations.scaling import MetricAnswer
from lab.explanations.why_not_scaled import WhyNotScaled
from projections.figures import duration, number
from projections.times import cluster_clock


def scaling_screen(found: WhyNotScaled) -> Group:
    """Return the screen."""
    title = Text(
        f"hpa {found.autoscaler}: what does it want, and what holds it back?", style="bold"
    )
    title.append(f"   as of {cluster_clock(found.as_of_seconds)}", style="dim")
    parts: list[RenderableType] = [title, Text(_first_line(found)), Text(), _metrics(found)]
    parts += [Text(text, style="dim") for one in found.metrics for text in _pods(one)]
    parts += list(_holds(found))
    parts.append(_own(found))
    parts += [Text(f"  {text}", style="dim") for text in found.own_conditions]
    parts += [Text(f"not known: {text}", style="dim") for text in found.unknown]
    return Group(*parts)


def _first_line(found: WhyNotScaled) -> str:
    target = found.target
    has = f"{target.kind} {target.name} has {target.replicas} replicas ({found.minimum} to {found.maximum} allowed)"
    if found.asked is None:
        return f"{has}; its metrics allow no conclusion, so the number stays."
    by = f" by {found.ruling}" if found.ruling else ""
    then = "" if found.allowed == found.asked else f", of which its limits leave {found.allowed}"
    return f"{has}; its metrics ask for {found.asked}{by}{then}."


def _metrics(found: WhyNotScaled) -> Table:
    table = Table.grid(padding=(0, 2))
    for heading in ("metric", "reads", "wants", "ratio", "asks for", "age"):
        table.add_column(heading)
    table.add_row(*(Text(str(column.header), style="dim") for column in table.columns))
    for one in found.metrics:
        if one.problem:
            table.add_row(one.name, Text(one.problem, style="red"), one.wants, "", "nothing", "")
            continue
        age = "its own status" if one.own_value else ""
        age = duration(one.age_seconds) if one.age_seconds is not None else age
        rules = " (rules)" if one.name == found.ruling else ""
        ratio = "" if one.ratio is None else number(one.ratio)
        table.add_row(one.name, one.reads, one.wants, ratio, f"{one.replicas}{rules}", age)
    return table


def _pods(one: MetricAnswer) -> Iterator[str]:
    if one.missing:
        yield f"{one.name}: no value of {names_text(one.missing)}"
    if one.unready:
        yield f"{one.name}: not ready or still starting: {names_text(one.unready)}"
    if one.ignored:
        yield f"{one.name}: left out, failed or going: {names_text(one.ignored)}"
    if (one.missing or one.unready) and one.without_corrections not in (None, one.replicas):
        yield f"{one.name}: without these pods it would ask for {one.without_corrections}"


def _holds(found: WhyNotScaled) -> Iterator[RenderableType]:
    for hold in found.holds:
        without = "" if hold.replicas is None else f"; without it {hold.replicas}"
        since = hold.since_seconds
        age = "" if since is None else f", for {duration(max(0.0, found.as_of_seconds - since))}"
        yield Text(f"held by {hold.what}: {hold.text}{age}{without}", style="yellow")


def _own(found: WhyNotScaled) -> Text:
    last = found.last_scaled_seconds
    scaled = (
        "it has never scaled"
        if last is None
        else f"it last scaled {duration(max(0.0, found.as_of_seconds - last))} ago"
    )
    text = f"The controller says {found.own_desired}; {scaled}."
    if found.agrees:
        return Text(f"{text} That is what is computed here.", style="green")
    return Text(
        f"{text} That is not what is computed here: it looked at another moment.", style="red"
    )
