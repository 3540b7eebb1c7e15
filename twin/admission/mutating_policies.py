"""Defaults and checks of MutatingAdmissionPolicies.

Source: kubernetes/kubernetes pkg/apis/admissionregistration (defaults and validation at 1.36); the sentences are
those of a real server.
"""

from __future__ import annotations

from twin.admission.findings import Findings
from twin.admission.policies import check_param_kind, check_variables, match_resources
from twin.admission.webhook_configurations import check_conditions, one_of
from twin.custom.policy_expressions import check_literal, names_for
from twin.records import Object

_TYPES = ("ApplyConfiguration", "JSONPatch")
_FIELDS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_RESULTS = {"ApplyConfiguration": "Object", "JSONPatch": "list(JSONPatch)"}
_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")


def policy(obj: Object, findings: Findings) -> None:
    """Default and check a MutatingAdmissionPolicy in place."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    one_of("spec.failurePolicy", spec["failurePolicy"], ("Fail", "Ignore"), findings)
    check_param_kind(spec.get("paramKind"), findings)
    _check_constraints(spec.get("matchConstraints"), findings)
    params = bool(spec.get("paramKind"))
    conditions = spec.get("matchConditions") or []
    check_conditions(conditions, "spec.matchConditions", findings, names_for(params=params))
    known = check_variables(spec.get("variables") or [], findings, params=params)
    mutations = spec.get("mutations") or []
    if not mutations:
        findings.add("spec.mutations", "Required value: mutations must contain at least one item")
    for index, mutation in enumerate(mutations):
        path = f"spec.mutations[{index}]"
        _check_mutation(mutation, path, names_for(params=params), known, findings)
    again = spec.get("reinvocationPolicy")
    if not again:
        findings.require("spec.reinvocationPolicy")
    else:
        one_of("spec.reinvocationPolicy", again, ("IfNeeded", "Never"), findings)


def _check_constraints(constraints: Object | None, findings: Findings) -> None:
    path = "spec.matchConstraints"
    if constraints is None:
        findings.require(path)
        return
    match_resources(constraints, path, findings)
    rules = constraints.get("resourceRules") or []
    if not rules:
        findings.require(f"{path}.resourceRules")
    for rule in rules:
        for operation in rule.get("operations") or ():
            one_of(f"{path}.resourceRules.operations", operation, _OPERATIONS, findings)


def _check_mutation(
    mutation: Object, path: str, names: tuple[str, ...], known: dict[str, str], findings: Findings
) -> None:
    kind = mutation.get("patchType")
    if not kind:
        findings.require(f"{path}.patchType")
        return
    if kind not in _TYPES:
        findings.unsupported(f"{path}.patchType", kind, _TYPES)
        return
    field = _FIELDS[kind]
    given = mutation.get(field)
    if given is None:
        why = f"must be specified when patchType is {kind}"
        findings.add(f"{path}.{field}", f"Required value: {why}")
    else:
        _check_expression(given, f"{path}.{field}.expression", kind, names, known, findings)
    for other in _FIELDS.values():
        if other != field and mutation.get(other) is not None:
            why = f"must not be specified when patchType is {kind}"
            findings.add(f"{path}.{other}", f'Invalid value: "{{{other}}}": {why}')


def _check_expression(
    given: Object,
    path: str,
    kind: str,
    names: tuple[str, ...],
    known: dict[str, str],
    findings: Findings,
) -> None:
    text = (given.get("expression") or "").strip()
    if not text:
        findings.require(path)
        return
    why = check_literal(text, names, known, _RESULTS[kind])
    if why:
        findings.bad(path, text, why)
