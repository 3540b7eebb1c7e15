"""What a time of watching queues came to, look by look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean

from projections.figures import duration, percent
from schemas.queue import QueueState
from schemas.wording import count_text


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """Counts over all looks; times are the cluster's own."""

    looks: int = 0
    first_seconds: float = 0.0
    last: QueueState | None = None
    most_waiting: int = 0
    cpu_used_ratios: tuple[float, ...] = ()
    """Of looks at which somebody measured it."""
    alerts: int = 0
    """That fired."""

    def with_look(self, state: QueueState) -> WatchSummary:
        """Return the summary with one look more."""
        measured = () if state.cpu_used_ratio is None else (state.cpu_used_ratio,)
        return replace(
            self,
            looks=self.looks + 1,
            first_seconds=self.first_seconds if self.looks else state.cluster_time_seconds,
            last=state,
            most_waiting=max(self.most_waiting, state.queue_length),
            cpu_used_ratios=(*self.cpu_used_ratios, *measured),
        )

    @property
    def seconds(self) -> float:
        """Time from the first look to the last; 0 without two."""
        return 0.0 if self.last is None else self.last.cluster_time_seconds - self.first_seconds

    def line(self) -> str:
        """Return it in words."""
        if self.last is None:
            return "no look had an answer"
        cpu = (
            percent(fmean(self.cpu_used_ratios))
            if self.cpu_used_ratios
            else "nobody measured how much"
        )
        return (
            f"{count_text(self.looks, 'look')} in {duration(self.seconds)}: at most {self.most_waiting} waiting, "
            f"at the end {self.last.line()}; {cpu} of the cpu in use, "
            f"{count_text(self.last.oom_kills, 'kill')} for want of memory, {count_text(self.alerts, 'alert')}"
        )  # fmt: skip
