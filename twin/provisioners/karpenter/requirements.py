"""Sets of label values, and what remains of them when several wishes meet.

A requirement is a set of values, or all values but some; `Gt` and `Lt` bound numbers. Two requirements
intersect when a value satisfies both (pkg/scheduling/requirement.go, requirements.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twin.provisioners.karpenter.names import WELL_KNOWN
from twin.records import Object


@dataclass(frozen=True, slots=True)
class Requirement:
    """The values that a label may have: `values`, or with `complement` all but those."""

    values: tuple[str, ...] = ()
    complement: bool = True
    above: int | None = None
    below: int | None = None

    def has(self, value: str) -> bool:
        """True when the label may have this value."""
        if (value in self.values) == self.complement:
            return False
        if self.above is None and self.below is None:
            return True
        try:
            number = int(value)
        except ValueError:
            return False
        return (self.above is None or number > self.above) and (
            self.below is None or number < self.below
        )

    def meet(self, other: Requirement) -> Requirement:
        """Return what satisfies both."""
        above = max((x for x in (self.above, other.above) if x is not None), default=None)
        below = min((x for x in (self.below, other.below) if x is not None), default=None)
        bound = Requirement((), True, above, below)
        if self.complement and other.complement:
            merged = dict.fromkeys((*self.values, *other.values))
            return Requirement(tuple(merged), True, above, below)
        listed, rest = (other, self) if self.complement else (self, other)
        kept = tuple(value for value in listed.values if rest.has(value) and bound.has(value))
        return Requirement(kept, False)

    def intersects(self, other: Requirement) -> bool:
        """True when some value satisfies both."""
        both = self.meet(other)
        return both.complement or bool(both.values)

    @property
    def excludes(self) -> bool:
        """True for NotIn and DoesNotExist, which an absent label satisfies."""
        return (self.complement and bool(self.values)) or (not self.complement and not self.values)

    def text(self, key: str) -> str:
        """Return the requirement as Karpenter writes it."""
        if not self.complement:
            return (
                f"{key} In [{' '.join(sorted(self.values))}]"
                if self.values
                else f"{key} DoesNotExist"
            )
        if self.values:
            return f"{key} NotIn [{' '.join(sorted(self.values))}]"
        if self.above is not None:
            return f"{key} Gt {self.above}"
        return f"{key} Lt {self.below}" if self.below is not None else f"{key} Exists"


Requirements = dict[str, Requirement]
"""By label key."""


def one_of(*values: str) -> Requirement:
    """Return a requirement of a few values."""
    return Requirement(values, False)


def of_labels(labels: Mapping[str, str]) -> Requirements:
    """Return the requirement that labels have just these values."""
    return {key: one_of(value) for key, value in labels.items()}


def of_expressions(rules: Iterable[Object]) -> Requirements:
    """Return node selector requirements (key, operator, values) as sets."""
    found: Requirements = {}
    for rule in rules:
        values = tuple(rule.get("values") or ())
        match rule["operator"]:
            case "In":
                made = Requirement(values, False)
            case "NotIn":
                made = Requirement(values, True)
            case "DoesNotExist":
                made = Requirement((), False)
            case "Gt":
                made = Requirement(above=int(values[0]))
            case "Lt":
                made = Requirement(below=int(values[0]))
            case _:
                made = Requirement()
        add(found, {rule["key"]: made})
    return found


def add(base: Requirements, others: Requirements) -> None:
    """Narrow `base` by others, in place."""
    for key, entry in others.items():
        known = base.get(key)
        base[key] = entry if known is None else known.meet(entry)


def conflict(base: Requirements, wanted: Requirements, *, open_keys: bool) -> str:
    """Return why `wanted` cannot be met on top of `base`, nothing when it can.

    With `open_keys` well-known labels that `base` says nothing about may still get any value, as on a
    machine that is not chosen yet; on a node that is there they may not.
    """
    for key, entry in wanted.items():
        if open_keys and key in WELL_KNOWN:
            continue
        if key not in base and not entry.excludes:
            return f'label "{key}" does not have known values'
    for key, entry in wanted.items():
        known = base.get(key)
        if known is None or known.intersects(entry) or (known.excludes and entry.excludes):
            continue
        return f"key {key}, {entry.text(key)} not in {known.text(key)}"
    return ""


def listed(requirements: Requirements) -> str:
    """Return requirements as Karpenter writes them in a sentence."""
    return ", ".join(entry.text(key) for key, entry in sorted(requirements.items()))


def expressions(requirements: Requirements) -> list[Object]:
    """Return requirements as an object's spec holds them."""
    rows: list[Object] = []
    for key, entry in sorted(requirements.items()):
        if not entry.complement:
            operator = "In" if entry.values else "DoesNotExist"
        elif entry.values:
            operator = "NotIn"
        elif entry.above is not None:
            rows.append({"key": key, "operator": "Gt", "values": [str(entry.above)]})
            continue
        elif entry.below is not None:
            rows.append({"key": key, "operator": "Lt", "values": [str(entry.below)]})
            continue
        else:
            operator = "Exists"
        row: Object = {"key": key, "operator": operator}
        if entry.values:
            row["values"] = list(entry.values)
        rows.append(row)
    return rows
