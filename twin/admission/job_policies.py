"""When the pods of a Job make it fail or succeed: checks of its two policies.

Upstream: pkg/apis/batch/validation/validation.go of kubernetes/kubernetes.
"""

from __future__ import annotations

from twin.admission import rules
from twin.admission.findings import Findings
from twin.records import Object

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_MOST_RULES, _MOST_CODES, _MOST_CONDITIONS = 20, 255, 20


def check_failure_policy(spec: Object, findings: Findings, path: str) -> None:
    """Default and check `podFailurePolicy` of a Job's spec at `path`."""
    inner = spec["template"]["spec"]
    names = {
        container.get("name")
        for kind in ("containers", "initContainers")
        for container in inner.get(kind) or ()
    }
    stated = spec["podFailurePolicy"].get("rules") or ()
    if len(stated) > _MOST_RULES:
        findings.add(
            f"{path}.rules", f"Too many: {len(stated)}: must have at most {_MOST_RULES} items"
        )
    for index, rule in enumerate(stated):
        where, action = f"{path}.rules[{index}]", rule.get("action") or ""
        if not action:
            findings.require(
                f"{where}.action", f"valid values: {', '.join(map(_quoted, _ACTIONS))}"
            )
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            why = "requires the backoffLimitPerIndex to be set"
            findings.bad(f"{where}.action", action, why)
        else:
            rules.one_of(f"{where}.action", action, _ACTIONS, findings)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes is not None:
            _check_codes(codes, names, findings, f"{where}.onExitCodes")
        for place, condition in enumerate(conditions or ()):
            _check_condition(condition, findings, f"{where}.onPodConditions[{place}]")
        if codes is not None and conditions:
            why = "specifying both OnExitCodes and OnPodConditions is not supported"
            findings.add(where, f"Invalid value: {why}")
        elif codes is None and not conditions:
            why = "specifying one of OnExitCodes and OnPodConditions is required"
            findings.add(where, f"Invalid value: {why}")


def _quoted(word: str) -> str:
    return f'"{word}"'


def _check_codes(codes: Object, names: set[object], findings: Findings, path: str) -> None:
    operator, values = codes.get("operator") or "", codes.get("values") or []
    if not operator:
        findings.require(f"{path}.operator", 'valid values: "In", "NotIn"')
    else:
        rules.one_of(f"{path}.operator", operator, ("In", "NotIn"), findings)
    name = codes.get("containerName")
    if name is not None and name not in names:
        why = "must be one of the container or initContainer names in the pod template"
        findings.bad(f"{path}.containerName", name, why)
    if not values:
        findings.bad(f"{path}.values", values, "at least one value is required")
    elif len(values) > _MOST_CODES:
        why = f"must have at most {_MOST_CODES} items"
        findings.add(f"{path}.values", f"Too many: {len(values)}: {why}")
    ordered = True
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            findings.bad(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in values[:index]:
            findings.add(f"{path}.values[{index}]", f"Duplicate value: {value}")
        ordered = ordered and (index == 0 or values[index - 1] <= value)
    if not ordered:
        findings.bad(f"{path}.values", values, "must be ordered")


def _check_condition(condition: Object, findings: Findings, path: str) -> None:
    """Default and check a pattern of a pod's condition."""
    rules.qualified_name(f"{path}.type", condition.get("type") or "", findings)
    status = condition.setdefault("status", "True")
    rules.one_of(f"{path}.status", status, ("False", "True", "Unknown"), findings)


def check_success_policy(spec: Object, findings: Findings, path: str) -> None:
    """Check `successPolicy` of a Job's spec at `path`."""
    policy, completions = spec["successPolicy"], spec.get("completions") or 0
    if spec.get("completionMode") != "Indexed":
        findings.bad(path, policy, "requires indexed completion mode")
        return
    stated = policy.get("rules") or ()
    if not stated:
        why = "at least one rules must be specified when the successPolicy is specified"
        findings.require(f"{path}.rules", why)
    elif len(stated) > _MOST_RULES:
        findings.add(
            f"{path}.rules", f"Too many: {len(stated)}: must have at most {_MOST_RULES} items"
        )
    for index, rule in enumerate(stated):
        _check_success(rule, completions, findings, f"{path}.rules[{index}]")


def _check_success(rule: Object, completions: int, findings: Findings, path: str) -> None:
    count, text = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and text is None:
        why = "at least one of succeededCount or succeededIndexes must be specified"
        findings.require(path, why)
        return
    total = None
    if text is not None:
        total, problem = _count_indexes(text, completions)
        if problem:
            why = f"error parsing succeededIndexes: {problem}"
            findings.bad(f"{path}.succeededIndexes", text, why)
            return
    rules.not_negative(f"{path}.succeededCount", count, findings)
    if count is not None and count > completions:
        why = f"must be less than or equal to {completions} (the number of specified completions)"
        findings.bad(f"{path}.succeededCount", count, why)
    elif count is not None and total is not None and count > total:
        why = (
            f"must be less than or equal to {total} (the number of indexes in the specified "
            "succeededIndexes field)"
        )
        findings.bad(f"{path}.succeededCount", count, why)


def _count_indexes(text: str, completions: int) -> tuple[int, str]:
    """Return how many indexes a text such as `0,2-4` names, and what is wrong with it."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        ends = part.split("-")
        for end in ends:
            if not (end.isascii() and end.isdecimal()):
                return 0, f'cannot convert string to integer for index: "{end}"'
            if int(end) >= completions:
                return 0, f'too large index: "{end}"'
        first, final = int(ends[0]), int(ends[-1])
        if len(ends) > 2 or final < first or first <= last:
            return 0, f"non-increasing order, previous: {last}, current: {first}"
        total, last = total + final - first + 1, final
    return total, ""
