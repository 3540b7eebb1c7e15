"""What a metric family is, and what its samples are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from twin.engine import Engine
from twin.records import Record

LabelValues = tuple[str | int, ...]
"""Values in the order of a family's labels. One may be a number n: that stands for n series with the same
value, whose label is 0 to n - 1, as node-exporter has one for each CPU."""
Row = tuple[str, LabelValues, float]
"""Name of the sample (of a histogram with `_bucket`, `_sum` or `_count`), label values, value."""
NODE_EXPORTER, KUBE_STATE = "node-exporter", "kube-state-metrics"
KUBELET = (("job", "kubelet"), ("metrics_path", "/metrics/cadvisor"))


@dataclass(frozen=True, slots=True)
class Family:
    """A family: its name, type and help, and which labels its samples have."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    labels: tuple[str, ...]
    constant: tuple[tuple[str, str], ...] = ()
    """Labels that a Prometheus adds for the exporter, as kube-prometheus sets it up."""

    @property
    def sample_labels(self) -> dict[str, tuple[str, ...]]:
        """Return the labels of each kind of sample by its name."""
        if self.kind != "histogram":
            return {self.name: self.labels}
        return {
            f"{self.name}_bucket": (*self.labels, "le"),
            f"{self.name}_sum": self.labels,
            f"{self.name}_count": self.labels,
        }


@dataclass(frozen=True, slots=True)
class ObjectFamilies:
    """Families that follow from one object each, so that only what has changed is read again."""

    resource: str
    families: tuple[Family, ...]
    rows: Callable[[Record], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class EngineFamilies:
    """Families that are read from the running engine at each scrape."""

    families: tuple[Family, ...]
    rows: Callable[[Engine], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class Exporters:
    """All that is shown, and how names and labels are found."""

    objects: tuple[ObjectFamilies, ...]
    engines: tuple[EngineFamilies, ...]
    families: dict[str, Family] = field(init=False)
    """By family name, in order."""
    labels: dict[str, tuple[Family, tuple[str, ...]]] = field(init=False)
    """Family and labels by the name of a sample."""

    def __post_init__(self) -> None:
        """Index the families."""
        groups = [group.families for group in self.objects]
        groups += [group.families for group in self.engines]
        families = {family.name: family for group in groups for family in group}
        labels = {
            name: (family, names)
            for family in families.values()
            for name, names in family.sample_labels.items()
        }
        object.__setattr__(self, "families", families)
        object.__setattr__(self, "labels", labels)


def expand(values: LabelValues) -> Iterator[tuple[str, ...]]:
    """Yield the label values of each series that stands behind one row."""
    for place, value in enumerate(values):
        if isinstance(value, int):
            before, after = values[:place], values[place + 1 :]
            for number in range(value):
                yield tuple(map(str, (*before, number, *after)))
            return
    yield tuple(map(str, values))
