"""One screen on what keeps a node: pods and rules, until when, who could change it, and where its pods would go."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from foresail.explanation.scheduling_screen import names_text
from lab.explanations.keepers import Keeper
from lab.explanations.waits import Said
from lab.explanations.why_not_consolidated import KARPENTER, WhyNotConsolidated
from projections.figures import duration
from projections.times import cluster_clock
from schemas.wording import count_text
from twin.scheduling.sentences import NO_CLAIMS

MOST_KEEPERS, MOST_WORDS = 12, 3
WIDTH = 20


def consolidating_screen(found: WhyNotConsolidated) -> Group:
    """Return the screen."""
    title = Text(f"node {found.node}: why does it stay?", style="bold")
    title.append(f"   as of {cluster_clock(found.as_of_seconds)}", style="dim")
    parts: list[RenderableType] = [title, Text(_first_line(found)), Text()]
    for keeper in found.keepers[:MOST_KEEPERS]:
        parts += _keeper(keeper, found.as_of_seconds)
    if (left := len(found.keepers) - MOST_KEEPERS) > 0:
        parts.append(Text(f"  and {left} more (--json has them)", style="dim"))
    parts += _places(found)
    parts += [_said(found, said) for said in found.said[:MOST_WORDS]]
    if not found.said:
        parts.append(
            Text("Its autoscaler has said nothing about it that is still kept.", style="dim")
        )
    parts += [Text(f"not known: {text}", style="dim") for text in found.unknown]
    return Group(*parts)


def _first_line(found: WhyNotConsolidated) -> str:
    pods = count_text(found.pods, "pod")
    if found.autoscaler == KARPENTER:
        whose = f"Karpenter's, of NodePool {found.pool}"
    else:
        whose = "no node of Karpenter's: judged by Cluster Autoscaler's rules"
    if found.keepers:
        keeps = f"{count_text(len(found.keepers), 'thing keeps', 'things keep')} it"
    elif found.homeless:
        keeps = "no rule keeps it, and its pods do not all fit elsewhere"
    else:
        keeps = "nothing that can be read keeps it"
    return f"{whose}; {pods} would have to move; {keeps}."


def _keeper(keeper: Keeper, now: float) -> Iterator[RenderableType]:
    line = Text(f"{keeper.rule:<{WIDTH}}", style="yellow")
    line.append(keeper.text, style="bold")
    yield line
    if keeper.until_seconds is not None:
        left = duration(max(0.0, keeper.until_seconds - now))
        yield _beneath(f"until {cluster_clock(keeper.until_seconds)}, {left} left")
    if keeper.who:
        yield _beneath(f"who could change it: {keeper.who}")


def _beneath(text: str) -> Padding:
    return Padding(Text(text, style="dim"), (0, 0, 0, WIDTH), expand=False)


def _said(found: WhyNotConsolidated, said: Said) -> Text:
    age = (
        ""
        if said.time_seconds is None
        else f" {duration(max(0.0, found.as_of_seconds - said.time_seconds))} ago"
    )
    text = f"{found.autoscaler} said{age}: {said.text}"
    if said.agrees:
        return Text(f"{text}: that is one of these", style="green")
    return Text(f"{text}: that is none of these now", style="dim")


def _places(found: WhyNotConsolidated) -> Iterator[RenderableType]:
    yield Text()
    if not found.pods:
        yield Text("It holds no pod that would have to move.", style="green")
    elif not found.homeless:
        yield Text(
            "All of them have a place on the other nodes, tried on a copy of the cluster.",
            style="green",
        )
    else:
        lost = count_text(len(found.homeless), "pod has", "pods have")
        yield Text(f"{lost} no place on the other nodes, tried on a copy of the cluster:")
        alike: dict[str, list[str]] = {}
        for one in found.homeless:
            alike.setdefault(one.sentence.partition(f" {NO_CLAIMS}")[0], []).append(one.pod)
        for sentence, pods in alike.items():
            yield Text(f"  - {names_text(pods)}: {sentence}")
