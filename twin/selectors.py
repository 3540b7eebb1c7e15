"""Label selectors as objects (`matchLabels`, `matchExpressions`)."""

from __future__ import annotations

from collections.abc import Mapping

from twin.records import Object


def matches(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """True when `labels` satisfy the selector; an absent one selects nothing, an empty one all."""
    if selector is None:
        return False
    match_labels = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in match_labels.items()):
        return False
    return all(_expression(rule, labels) for rule in selector.get("matchExpressions") or ())


def _expression(rule: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(rule["key"]), rule.get("values") or []
    match rule["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False


def selector_in_go(selector: Object | None) -> str:
    """Return a selector as Go's `%v` prints it, which some of upstream's messages do."""
    if selector is None:
        return "nil"
    labels = sorted((selector.get("matchLabels") or {}).items())
    wanted = "".join(f"{key}: {value}," for key, value in labels)
    rules = "".join(map(_rule_in_go, selector.get("matchExpressions") or ()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{wanted}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{rules}}},}}"
    )


def _rule_in_go(rule: Object) -> str:
    values = " ".join(rule.get("values") or ())
    return f"LabelSelectorRequirement{{Key:{rule['key']},Operator:{rule['operator']},Values:[{values}],}},"


def selector_text(selector: Object) -> str:
    """Return a selector as clients give it in a query; one without operators is a plain map."""
    plain = all(isinstance(value, str) for value in selector.values())
    labels = selector if plain else selector.get("matchLabels") or {}
    parts = [(key, f"{key}={value}") for key, value in labels.items()]
    for rule in () if plain else selector.get("matchExpressions") or ():
        key, values = rule["key"], ",".join(sorted(rule.get("values") or ()))
        forms = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        parts.append((key, forms[rule["operator"]]))
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))
