"""One screen on what a pod or workload waits for: since when, until when, who could change it, and who says so."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from foresail.explanation.scheduling_screen import names_text
from lab.explanations.waits import Wait
from lab.explanations.why_not_started import MOST_GROUPS, WhyNotStarted
from projections.figures import duration
from projections.times import cluster_clock
from schemas.wording import count_text


def starting_screen(found: WhyNotStarted) -> Group:
    """Return the screen."""
    title = Text(f"{found.object}: what does it wait for?", style="bold")
    title.append(f"   as of {cluster_clock(found.as_of_seconds)}", style="dim")
    parts: list[RenderableType] = [title, Text(f"{found.state}.")]
    if found.waits_for_nothing:
        parts.append(Text("It waits for nothing.", style="green"))
    for wait in found.waits:
        parts += _wait(wait, wait.text, found.as_of_seconds)
    for group in found.pods[:MOST_GROUPS]:
        pods = f"{count_text(len(group.pods), 'pod')} ({names_text(group.pods)}): {group.wait.text}"
        parts += _wait(group.wait, pods, found.as_of_seconds)
    if (left := len(found.pods) - MOST_GROUPS) > 0:
        parts.append(Text(f"  and {left} more groups of pods (--json has them)", style="dim"))
    parts.append(Text())
    parts += [Text(f"not known: {text}", style="dim") for text in found.unknown]
    return Group(*parts)


def _wait(wait: Wait, text: str, now: float) -> Iterator[RenderableType]:
    yield Text()
    line = Text(f"{wait.step:<14}", style="yellow")
    line.append(text, style="bold")
    yield line
    if times := _times(wait, now):
        yield _beneath(times)
    if wait.who:
        yield _beneath(f"who could change it: {wait.who}")
    if wait.words is not None:
        age = (
            ""
            if wait.words.seconds is None
            else f" {duration(max(0.0, now - wait.words.seconds))} ago"
        )
        yield _beneath(f"said{age}: {wait.words.text}")


def _beneath(text: str) -> Padding:
    return Padding(Text(text, style="dim"), (0, 0, 0, 14), expand=False)


def _times(wait: Wait, now: float) -> str:
    parts = []
    if wait.since_seconds is not None:
        parts.append(f"for {duration(max(0.0, now - wait.since_seconds))}")
    if wait.until_seconds is not None:
        left = wait.until_seconds - now
        until = f"in {duration(left)}" if left > 0 else f"due since {duration(-left)}"
        parts.append(f"next at {cluster_clock(wait.until_seconds)}, {until}")
    return "; ".join(parts)
