"""The words of the table: what they stand for, and whether what is seen agrees with them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from inputs.quantities import parse_quantity

Object = dict[str, Any]


def resource_groups(said: Object) -> list[Object]:
    """Return the resourceGroups that `quotas` or `groups` stand for."""
    groups = []
    for quotas in said.get("groups") or [said["quotas"]]:
        covered = list(next(iter(quotas.values())))
        flavors = [
            {"name": flavor, "resources": [{"name": n, **_quota(q)} for n, q in resources.items()]}
            for flavor, resources in quotas.items()
        ]
        groups.append({"coveredResources": covered, "flavors": flavors})
    return groups


def _quota(words: Any) -> Object:
    parts = str(words).split()
    quota = {"nominalQuota": parts[0]}
    names = {"borrow": "borrowingLimit", "lend": "lendingLimit"}
    for word, value in zip(parts[1::2], parts[2::2], strict=True):
        quota[names[word]] = value
    return quota


def with_nulls(value: Any) -> Any:
    """Return a merge patch in which `none` takes a member away."""
    if isinstance(value, dict):
        return {key: with_nulls(each) for key, each in value.items()}
    return None if value == "none" else value


def value_at(obj: Object, where: str) -> Any:
    """Return what an object has at a path; of a condition, its status and reason, or its message."""
    if where.startswith("says ") or where[0].isupper():
        kind = where.removeprefix("says ")
        rows = (obj.get("status") or {}).get("conditions") or ()
        row = next((row for row in rows if row["type"] == kind), None)
        if row is None:
            return "none"
        return row["message"] if where.startswith("says ") else f"{row['status']} {row['reason']}"
    found: Any = obj
    for key in where.split("."):
        if found is None:
            return None
        place = int(key) if key.isdecimal() else None
        if place is None:
            found = found.get(key)
        elif place < len(found):
            found = found[place]
        else:
            found = None
    return found


def agrees(seen: Any, wanted: Any, where: str) -> bool:
    """Say whether what is seen at a path is what the table says."""
    if wanted == "none":
        return seen in (None, "", 0, "none") or seen == {} or seen == []
    if where.startswith("says "):
        return wanted in seen
    if where[0].isupper():
        status, _, reasons = str(wanted).partition(" ")
        if status == "not":
            return str(seen).split()[0] != reasons
        found, _, reason = str(seen).partition(" ")
        return found == status and (not reasons or reason in reasons.split("|"))
    if isinstance(wanted, str) and wanted.startswith("like "):
        return re.fullmatch(wanted[5:], str(seen)) is not None
    if isinstance(wanted, dict) and isinstance(seen, dict) and set(wanted) == set(seen):
        return all(agrees(seen[key], wanted[key], "value") for key in wanted)
    if isinstance(wanted, list) and isinstance(seen, list) and len(wanted) == len(seen):
        return all(agrees(one, other, "value") for one, other in zip(seen, wanted, strict=True))
    return bool(seen == wanted or same_quantity(seen, wanted))


def same_quantity(one: Any, other: Any) -> bool:
    """Say whether two texts are one quantity."""
    values: list[Decimal] = []
    for text in (one, other):
        if not isinstance(text, str):
            return False
        try:
            values.append(parse_quantity(text))
        except ValueError:
            return False
    return values[0] == values[1]
