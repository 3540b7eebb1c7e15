"""What a pod spec says about where it may go: defaults and checks, in the API server's words.

Upstream: pkg/apis/core/validation/validation.go and pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from typing import Any

from twin.admission import metadata, rules
from twin.admission.findings import Findings
from twin.records import Object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MOST_WEIGHT, _MOST_PORT = 100, 65_535


def admit_placement(spec: Object, findings: Findings, path: str) -> None:
    """Default and check affinity, spreading, tolerations, gates and host ports in place."""
    affinity = spec.get("affinity") or {}
    _node_affinity(affinity.get("nodeAffinity") or {}, findings, f"{path}.affinity.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        _pod_affinity(affinity.get(kind) or {}, findings, f"{path}.affinity.{kind}")
    pairs: dict[tuple[str, str], int] = {}
    for index, entry in enumerate(spec.get("topologySpreadConstraints") or ()):
        where = f"{path}.topologySpreadConstraints[{index}]"
        _spread(entry, findings, where)
        pair = (str(entry.get("topologyKey")), str(entry.get("whenUnsatisfiable")))
        if pair in pairs:
            earlier = f"{path}.topologySpreadConstraints[{pairs[pair]}]"
            place = f"{earlier}.{{topologyKey, whenUnsatisfiable}}"
            findings.add(place, f'Duplicate value: "{{{pair[0]}, {pair[1]}}}"')
        pairs[pair] = index
    for index, entry in enumerate(spec.get("tolerations") or ()):
        _toleration(entry, findings, f"{path}.tolerations[{index}]")
    gates: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name, where = gate.get("name") or "", f"{path}.schedulingGates[{index}]"
        rules.qualified_name(where, name, findings)
        if name in gates:
            findings.add(where, f'Duplicate value: "{name}"')
        gates.add(name)
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            _ports(container, findings, f"{path}.{kind}[{index}].ports")


def _node_affinity(affinity: Object, findings: Findings, path: str) -> None:
    required = affinity.get(_REQUIRED)
    if required is not None:
        terms = required.get("nodeSelectorTerms")
        if not terms:
            findings.add(f"{path}.{_REQUIRED}.nodeSelectorTerms",
                         "Required value: must have at least one node selector term")  # fmt: skip
        for index, term in enumerate(terms or ()):
            where = f"{path}.{_REQUIRED}.nodeSelectorTerms[{index}]"
            _node_term(term, findings, where)
    for index, entry in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{index}]"
        _weight(entry, findings, where)
        _node_term(entry.get("preference") or {}, findings, f"{where}.preference")


def _node_term(term: Object, findings: Findings, path: str) -> None:
    for field in ("matchExpressions", "matchFields"):
        for index, rule in enumerate(term.get(field) or ()):
            where = f"{path}.{field}[{index}]"
            _rule(rule, _NODE_OPERATORS, findings, where)
            if field == "matchFields" and rule.get("key") != "metadata.name":
                findings.bad(f"{where}.key", rule.get("key"), "not a valid field selector key")
            values = rule.get("values") or []
            if rule.get("operator") in ("Gt", "Lt") and len(values) != 1:
                findings.add(f"{where}.values", "Required value: must be specified single value "
                             "when `operator` is 'Lt' or 'Gt'")  # fmt: skip


def _pod_affinity(affinity: Object, findings: Findings, path: str) -> None:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        _pod_term(term, findings, f"{path}.{_REQUIRED}[{index}]")
    for index, entry in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{index}]"
        _weight(entry, findings, where)
        _pod_term(entry.get("podAffinityTerm") or {}, findings, f"{where}.podAffinityTerm")


def _pod_term(term: Object, findings: Findings, path: str) -> None:
    if not term.get("topologyKey"):
        findings.add(f"{path}.topologyKey", "Required value: can not be empty")
    else:
        rules.qualified_name(f"{path}.topologyKey", term["topologyKey"], findings)
    check_selector(term.get("labelSelector"), findings, f"{path}.labelSelector")
    check_selector(term.get("namespaceSelector"), findings, f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        rules.dns_label(f"{path}.namespace", name, findings)


def _spread(entry: Object, findings: Findings, path: str) -> None:
    _positive(entry.get("maxSkew"), findings, f"{path}.maxSkew")
    if not entry.get("topologyKey"):
        findings.add(f"{path}.topologyKey", "Required value: can not be empty")
    action = entry.get("whenUnsatisfiable")
    _one_of(action, _ACTIONS, findings, f"{path}.whenUnsatisfiable")
    if entry.get("minDomains") is not None:
        _positive(entry["minDomains"], findings, f"{path}.minDomains")
        if action != "DoNotSchedule":
            findings.bad(f"{path}.minDomains", entry["minDomains"],
                         "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "
                         f"{action}")  # fmt: skip
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if entry.get(field) is not None:
            _one_of(entry[field], _POLICIES, findings, f"{path}.{field}")
    check_selector(entry.get("labelSelector"), findings, f"{path}.labelSelector")


def _toleration(entry: Object, findings: Findings, path: str) -> None:
    operator = entry.get("operator") or "Equal"
    _one_of(operator, ("Equal", "Exists"), findings, f"{path}.operator")
    if entry.get("key"):
        rules.qualified_name(f"{path}.key", entry["key"], findings)
    if operator == "Equal":
        metadata.check_label_value(f"{path}.operator", entry.get("value") or "", findings)
    if not entry.get("key") and operator != "Exists":
        findings.bad(f"{path}.operator", operator, "operator must be Exists when `key` is empty, "
                     'which means "match all values and all keys"')  # fmt: skip
    if operator == "Exists" and entry.get("value"):
        findings.bad(f"{path}.operator", entry["value"], "value must be empty when `operator` is "
                     "'Exists'")  # fmt: skip
    if entry.get("effect"):
        _one_of(entry["effect"], _EFFECTS, findings, f"{path}.effect")
    if entry.get("tolerationSeconds") is not None and entry.get("effect") != "NoExecute":
        findings.bad(f"{path}.effect", entry.get("effect", ""), "effect must be 'NoExecute' when "
                     "`tolerationSeconds` is set")  # fmt: skip


def _ports(container: Object, findings: Findings, path: str) -> None:
    for index, port in enumerate(container.get("ports") or ()):
        port.setdefault("protocol", "TCP")
        for field in ("containerPort", "hostPort"):
            number = port.get(field)
            if number and (type(number) is not int or not 0 < number <= _MOST_PORT):
                where = f"{path}[{index}].{field}"
                findings.bad(where, number, f"must be between 1 and {_MOST_PORT}, inclusive")


def check_selector(selector: Any, findings: Findings, path: str) -> None:
    """Check a label selector at `path`; None is none."""
    metadata.check_labels(f"{path}.matchLabels", (selector or {}).get("matchLabels"), findings)
    for index, rule in enumerate((selector or {}).get("matchExpressions") or ()):
        _rule(rule, _LABEL_OPERATORS, findings, f"{path}.matchExpressions[{index}]")


def _rule(rule: Object, operators: tuple[str, ...], findings: Findings, path: str) -> None:
    rules.qualified_name(f"{path}.key", rule.get("key") or "", findings)
    operator, values = rule.get("operator"), rule.get("values") or []
    if operator not in operators:
        findings.bad(f"{path}.operator", operator or "", "not a valid selector operator")
    elif operator in ("In", "NotIn") and not values:
        findings.add(f"{path}.values", "Required value: must be specified when `operator` is 'In' "
                     "or 'NotIn'")  # fmt: skip
    elif operator in ("Exists", "DoesNotExist") and values:
        findings.add(f"{path}.values", "Forbidden: may not be specified when `operator` is "
                     "'Exists' or 'DoesNotExist'")  # fmt: skip


def _weight(entry: Object, findings: Findings, path: str) -> None:
    weight = entry.get("weight")
    if type(weight) is not int or not 1 <= weight <= _MOST_WEIGHT:
        findings.bad(f"{path}.weight", weight, f"must be in the range 1-{_MOST_WEIGHT}")


def _positive(number: Any, findings: Findings, path: str) -> None:
    if type(number) is not int or number < 1:
        findings.bad(path, number or 0, "must be greater than zero")


def _one_of(value: Any, known: tuple[str, ...], findings: Findings, path: str) -> None:
    rules.one_of(path, value, known, findings)
