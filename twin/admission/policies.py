"""Defaults and checks of ValidatingAdmissionPolicies and their bindings.

Source: kubernetes/kubernetes pkg/apis/admissionregistration (defaults and validation at 1.36); the sentences are
those of a real server.
"""

from __future__ import annotations

import json
import re
from typing import Any

from twin.admission.findings import Findings
from twin.admission.metadata import SUBDOMAIN
from twin.admission.webhook_configurations import (
    check_conditions,
    check_rule,
    default_matching,
    one_of,
)
from twin.custom.cel import RuleError
from twin.custom.policy_expressions import AUTHORIZER, check_expression, names_for, type_of
from twin.records import Object

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")
_KIND = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_NOTHING = "validations or auditAnnotations must contain at least one item"
_BAD_NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_BAD_KIND = (
    "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric "
    "characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  "
    "or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_BAD_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


Known = dict[str, str] | None
"""Types of the variables that an expression may use, by name."""


def policy(obj: Object, findings: Findings) -> None:
    """Default and check a ValidatingAdmissionPolicy in place."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    obj.setdefault("status", {})
    one_of("spec.failurePolicy", spec["failurePolicy"], ("Fail", "Ignore"), findings)
    check_param_kind(spec.get("paramKind"), findings)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        findings.require("spec.matchConstraints")
    else:
        match_resources(constraints, "spec.matchConstraints", findings)
        if not constraints.get("resourceRules"):
            findings.require("spec.matchConstraints.resourceRules")
    params = bool(spec.get("paramKind"))
    conditions = spec.get("matchConditions") or []
    check_conditions(conditions, "spec.matchConditions", findings, names_for(params=params))
    known = check_variables(spec.get("variables") or [], findings, params=params)
    declared = known if spec.get("variables") else None
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        for name in ("validations", "auditAnnotations"):
            findings.add(f"spec.{name}", f"Required value: {_NOTHING}")
        return
    names = names_for(params=params)
    for index, each in enumerate(spec.get("validations") or []):
        _check_validation(each, f"spec.validations[{index}]", names, declared, findings)
    _check_notes(obj, names, declared, findings)


def binding(obj: Object, findings: Findings) -> None:
    """Default and check a ValidatingAdmissionPolicyBinding in place."""
    check_binding(obj, findings)
    spec = obj["spec"]
    actions = spec.get("validationActions") or []
    path = "spec.validationActions"
    for index, action in enumerate(actions):
        one_of(f"{path}[{index}]", action, _ACTIONS, findings)
        if action in actions[:index]:
            findings.add(f"{path}[{index}]", f"Duplicate value: {json.dumps(action)}")
    if "Deny" in actions and "Warn" in actions:
        shown = json.dumps(actions, separators=(",", ":"))
        findings.add(path, f"Invalid value: {shown}: {_BOTH}")
    if not actions:
        findings.add(path, "Required value: at least one validation action is required")


def check_binding(obj: Object, findings: Findings) -> None:
    """Check what bindings of both sorts of policies have, in place."""
    spec = obj.setdefault("spec", {})
    name = spec.get("policyName")
    if not name:
        findings.require("spec.policyName")
    elif not SUBDOMAIN.match(name):
        findings.bad("spec.policyName", name, _BAD_SUBDOMAIN)
    if spec.get("paramRef") is not None:
        check_param_ref(spec["paramRef"], findings)
    if spec.get("matchResources") is not None:
        match_resources(spec["matchResources"], "spec.matchResources", findings)


def match_resources(constraints: Object, path: str, findings: Findings) -> None:
    """Default and check which writes a policy or a binding is about."""
    default_matching(constraints)
    one_of(f"{path}.matchPolicy", constraints["matchPolicy"], ("Equivalent", "Exact"), findings)
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(constraints.get(name) or []):
            rule.setdefault("scope", "*")
            place = f"{path}.{name}[{index}]"
            named = rule.get("resourceNames") or []
            for number, each in enumerate(named):
                if "/" in each:
                    findings.bad(f"{place}.resourceNames[{number}]", each, "may not contain '/'")
                if each in named[:number]:
                    text = f"Duplicate value: {json.dumps(each)}"
                    findings.add(f"{place}.resourceNames[{number}]", text)
            check_rule(rule, place, findings)


def check_param_kind(kind: Object | None, findings: Findings) -> None:
    """Check of which kind a policy's parameters are, if it has any."""
    if kind is None:
        return
    path, version, name = "spec.paramKind", kind.get("apiVersion") or "", kind.get("kind") or ""
    if not version:
        findings.require(f"{path}.apiVersion")
    elif version.count("/") > 1:
        findings.bad(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    if not name:
        findings.require(f"{path}.kind")
    elif not _KIND.match(name.lower()):
        findings.bad(f"{path}.kind", name, _BAD_KIND)


def check_param_ref(reference: Object, findings: Findings) -> None:
    """Check which objects a binding names as parameters."""
    path, name, selector = "spec.paramRef", reference.get("name"), reference.get("selector")
    clash = "Forbidden: name and selector are mutually exclusive"
    if name and "/" in name:
        findings.bad(f"{path}.name", name, "may not contain '/'")
    if name and selector is not None:
        findings.add(f"{path}.name", clash)
        findings.add(f"{path}.selector", clash)
    if not name and selector is None:
        findings.add(path, "Required value: one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        findings.require(f"{path}.parameterNotFoundAction")
    else:
        one_of(f"{path}.parameterNotFoundAction", action, ("Deny", "Allow"), findings)


def check_variables(variables: list[Any], findings: Findings, *, params: bool) -> dict[str, str]:
    """Check variables, each with those before it, and return their types by name."""
    known: dict[str, str] = {}
    names = names_for(params=params)
    for index, variable in enumerate(variables):
        path = f"spec.variables[{index}]"
        name, text = variable.get("name") or "", variable.get("expression") or ""
        if not name.strip():
            findings.add(f"{path}.name", "Required value: name is not specified")
        elif not _IDENTIFIER.match(name):
            findings.bad(f"{path}.name", name, "must be a valid CEL identifier")
        if not text.strip():
            findings.add(f"{path}.expression", "Required value: expression is not specified")
        else:
            _check(f"{path}.expression", text, names, known, (), findings)
        try:
            known[name] = type_of(text, names, known)
        except RuleError:
            known[name] = "dyn"
    return known


def _check_validation(
    each: Object, path: str, names: tuple[str, ...], known: Known, findings: Findings
) -> None:
    text, said = each.get("expression") or "", each.get("messageExpression") or ""
    if not text.strip():
        findings.add(f"{path}.expression", "Required value: expression is not specified")
    else:
        _check(f"{path}.expression", text, names, known, ("bool",), findings)
    if said and not said.strip():
        findings.bad(f"{path}.messageExpression", said, "must be non-empty if specified")
    elif said:
        plain = tuple(name for name in names if name != AUTHORIZER)
        _check(f"{path}.messageExpression", said, plain, known, ("string",), findings)
    message = each.get("message") or ""
    if message and not message.strip():
        findings.bad(f"{path}.message", message, "must be non-empty if specified")
    elif re.search(r"[\n\r]", message.strip()):
        shown = json.dumps(message)
        findings.add(f"{path}.message", f"Invalid value: {shown}: must not contain line breaks")
    if each.get("reason") is not None:
        one_of(f"{path}.reason", each["reason"], _REASONS, findings)


def _check_notes(obj: Object, names: tuple[str, ...], known: Known, findings: Findings) -> None:
    keys: list[str] = []
    owner = obj["metadata"].get("name", "")
    for index, note in enumerate(obj["spec"].get("auditAnnotations") or []):
        path = f"spec.auditAnnotations[{index}]"
        key, text = note.get("key") or "", note.get("valueExpression") or ""
        if not _NAME_PART.match(key):
            findings.bad(f"{path}.key", f"{owner}/{key}", _BAD_NAME_PART)
        if not text.strip():
            findings.add(
                f"{path}.valueExpression", "Required value: valueExpression is not specified"
            )
        else:
            kinds = ("string", "null_type")
            _check(f"{path}.valueExpression", text, names, known, kinds, findings)
        if key in keys:
            findings.add(f"{path}.key", f"Duplicate value: {json.dumps(key)}")
        keys.append(key)


def _check(
    path: str,
    text: str,
    names: tuple[str, ...],
    known: Known,
    allowed: tuple[str, ...],
    findings: Findings,
) -> None:
    why = check_expression(text, names, known, allowed)
    if why:
        findings.bad(path, text, why)
