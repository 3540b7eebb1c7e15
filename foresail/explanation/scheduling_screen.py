"""One screen on why a pod is on no node: what each node says, preemption, what would help, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.explanations.scheduling import SchedulingAnswer
from lab.explanations.why_not_scheduled import WhyNotScheduled
from projections.figures import duration
from projections.times import cluster_clock
from schemas.wording import count_text

MOST_NAMES = 4


def scheduling_screen(found: WhyNotScheduled) -> Group:
    """Return the screen."""
    title = Text(f"pod {found.pod}: why is it on no node?", style="bold")
    title.append(f"   as of {cluster_clock(found.as_of_seconds)}", style="dim")
    parts: list[RenderableType] = [title, Text(_first_line(found))]
    if found.answer is not None:
        parts += _body(found, found.answer)
    parts += [Text(f"not known: {text}", style="dim") for text in found.unknown]
    return Group(*parts)


def _first_line(found: WhyNotScheduled) -> str:
    if found.answer is None:
        return f"The default scheduler does not look at it: {found.obstacle}."
    if found.answer.feasible:
        names = names_text(found.answer.feasible)
        count = count_text(len(found.answer.feasible), "node")
        return f"{count} would take it now ({names}): it waits for its turn, or the scheduler does not run."
    since = found.waits_since_seconds
    waits = "" if since is None else f" for {duration(max(0.0, found.as_of_seconds - since))}"
    return f"It has waited{waits}; none of {count_text(found.answer.nodes, 'node')} takes it."


def _body(found: WhyNotScheduled, answer: SchedulingAnswer) -> Iterator[RenderableType]:
    if found.groups:
        yield Text()
        yield _verdicts(found)
    elif not answer.feasible:
        yield Text(f"  {answer.sentence}")
    preempts = answer.preempts
    if preempts is not None and preempts.victims:
        protected = count_text(preempts.violations, "of them", "of them")
        budget = f"; a disruption budget protects {protected}" if preempts.violations else ""
        yield Text(
            f"preemption: {names_text(preempts.victims)} would leave {preempts.node} for it{budget}"
        )
    elif preempts is not None:
        yield Text(preempts.sentence, style="dim")
    if not answer.feasible:
        yield Text()
        yield from _changes(found)
    yield from _words(found)


def _verdicts(found: WhyNotScheduled) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=2, overflow="fold")
    table.add_column(ratio=2, overflow="fold", style="dim")
    for group in found.groups:
        table.add_row(
            count_text(len(group.nodes), "node"),
            group.plugin,
            ", ".join(group.reasons),
            names_text(group.nodes),
        )
    return table


def _changes(found: WhyNotScheduled) -> Iterator[RenderableType]:
    if not found.changes:
        yield Text("No change of its spec, nor of one node's taints, would let it run.")
        return
    how = "one of these" if len(found.changes) > 1 else "this"
    yield Text(f"It would run with {how}, tried on a copy of the cluster:")
    for change in found.changes:
        yield Text(f"  - {'; and '.join(change.steps)}   (then on {change.node})")


def _words(found: WhyNotScheduled) -> Iterator[RenderableType]:
    said = found.said
    if said is None:
        yield Text("The scheduler has said nothing about it yet.", style="dim")
        return
    age = (
        ""
        if said.time_seconds is None
        else f", {duration(max(0.0, found.as_of_seconds - said.time_seconds))} ago"
    )
    if said.agrees:
        yield Text(f"The scheduler said the same{age}.", style="green")
    else:
        yield Text(
            f"The scheduler said otherwise{age}, of the cluster as it was then: {said.text}",
            style="red",
        )


def names_text(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    shown = ", ".join(names[:MOST_NAMES])
    left = len(names) - MOST_NAMES
    return f"{shown} and {left} more" if left > 0 else shown
