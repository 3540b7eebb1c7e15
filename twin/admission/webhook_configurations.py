"""Defaults and checks of webhook configurations.

Source: kubernetes/kubernetes pkg/apis/admissionregistration (defaults and validation at 1.36); the sentences are
those of a real server.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from twin.admission.findings import Findings
from twin.admission.metadata import SUBDOMAIN
from twin.custom.policy_expressions import check_expression
from twin.records import Object

_OPERATIONS = ("*", "CREATE", "UPDATE", "DELETE", "CONNECT")
_REVIEWS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"
_CONDITION = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")
_CONDITION_VARIABLES = ("object", "oldObject", "request")
_LONGEST_TIMEOUT = 30
MOST_CONDITIONS = 64


def mutating(obj: Object, findings: Findings) -> None:
    """Default and check a MutatingWebhookConfiguration in place."""
    for hook in obj.get("webhooks") or []:
        hook.setdefault("reinvocationPolicy", "Never")
    validating(obj, findings)
    for index, hook in enumerate(obj.get("webhooks") or []):
        path = f"webhooks[{index}].reinvocationPolicy"
        one_of(path, hook["reinvocationPolicy"], ("IfNeeded", "Never"), findings)


def validating(obj: Object, findings: Findings) -> None:
    """Default and check a ValidatingWebhookConfiguration in place."""
    names: set[str] = set()
    for index, hook in enumerate(obj.get("webhooks") or []):
        path = f"webhooks[{index}]"
        _default(hook)
        _check(hook, path, findings)
        name = hook.get("name") or ""
        if name and name in names:
            findings.add(f"{path}.name", f"Duplicate value: {json.dumps(name)}")
        names.add(name)


def default_matching(owner: Object) -> None:
    """Set what webhooks and policies have in common where they say which objects they are about."""
    owner.setdefault("matchPolicy", "Equivalent")
    owner.setdefault("namespaceSelector", {})
    owner.setdefault("objectSelector", {})


def _default(hook: Object) -> None:
    hook.setdefault("failurePolicy", "Fail")
    hook.setdefault("timeoutSeconds", 10)
    default_matching(hook)
    for rule in hook.get("rules") or []:
        rule.setdefault("scope", "*")
    service = (hook.get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def _check(hook: Object, path: str, findings: Findings) -> None:
    _check_name(hook.get("name") or "", f"{path}.name", findings)
    for index, rule in enumerate(hook.get("rules") or []):
        check_rule(rule, f"{path}.rules[{index}]", findings)
    one_of(f"{path}.failurePolicy", hook["failurePolicy"], ("Fail", "Ignore"), findings)
    one_of(f"{path}.matchPolicy", hook["matchPolicy"], ("Equivalent", "Exact"), findings)
    effects = ("None", "NoneOnDryRun")
    if hook.get("sideEffects") is None:
        why = f"Required value: must specify one of {', '.join(effects)}"
        findings.add(f"{path}.sideEffects", why)
    else:
        one_of(f"{path}.sideEffects", hook["sideEffects"], effects, findings)
    seconds = hook["timeoutSeconds"]
    if not 1 <= seconds <= _LONGEST_TIMEOUT:
        why = "the timeout value must be between 1 and 30 seconds"
        findings.bad(f"{path}.timeoutSeconds", seconds, why)
    _check_client(hook.get("clientConfig") or {}, f"{path}.clientConfig", findings)
    check_conditions(hook.get("matchConditions") or [], f"{path}.matchConditions", findings)
    _check_versions(hook.get("admissionReviewVersions") or [], path, findings)


def _check_name(name: str, path: str, findings: Findings) -> None:
    if not name:
        findings.require(path)
    elif not SUBDOMAIN.match(name):
        findings.bad(path, name, "a lowercase RFC 1123 subdomain is required")
    elif name.count(".") < 2:
        findings.bad(
            path, name, "should be a domain with at least three segments separated by dots"
        )


def check_rule(rule: Object, path: str, findings: Findings) -> None:
    """Check which requests a rule is about."""
    operations = rule.get("operations") or []
    if not operations:
        findings.require(f"{path}.operations")
    if len(operations) > 1 and "*" in operations:
        why = "if '*' is present, must not specify other operations"
        findings.bad(f"{path}.operations", _list(operations), why)
    for index, operation in enumerate(operations):
        one_of(f"{path}.operations[{index}]", operation, _OPERATIONS, findings)
    for name, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(name) or []
        if not values:
            findings.require(f"{path}.{name}")
        if len(values) > 1 and "*" in values:
            why = f"if '*' is present, must not specify other {words}"
            findings.bad(f"{path}.{name}", _list(values), why)
    _check_resources(rule.get("resources") or [], f"{path}.resources", findings)
    one_of(f"{path}.scope", rule.get("scope", "*"), ("*", "Cluster", "Namespaced"), findings)


def _check_resources(resources: list[str], path: str, findings: Findings) -> None:
    if not resources:
        findings.require(path)
    whole = {each.partition("/")[0] for each in resources if each.endswith("/*")}
    for index, resource in enumerate(resources):
        plural, slash, subresource = resource.partition("/")
        if not resource:
            findings.require(f"{path}[{index}]")
        elif resource == "*/*" and len(resources) > 1:
            why = "if '*/*' is present, must not specify other resources"
            findings.bad(path, _list(resources), why)
        elif slash and subresource != "*" and plural in whole:
            why = f"if '{plural}/*' is present, must not specify {resource}"
            findings.bad(f"{path}[{index}]", resource, why)
    if len(resources) > 1 and "*" in resources and any("/" not in r for r in resources if r != "*"):
        why = "if '*' is present, must not specify other resources without subresources"
        findings.bad(path, _list(resources), why)


def _check_client(client: Object, path: str, findings: Findings) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        findings.add(path, "Required value: exactly one of url or service is required")
    elif url is not None:
        _check_url(url, f"{path}.url", findings)
    elif service is not None:
        for name in ("name", "namespace"):
            if not service.get(name):
                findings.require(f"{path}.service.{name}")
        if not 1 <= service["port"] <= 65_535:
            why = "port is not valid: must be between 1 and 65535, inclusive"
            findings.bad(f"{path}.service.port", service["port"], why)
        road = service.get("path") or "/"
        if not road.startswith("/"):
            findings.bad(f"{path}.service.path", road, "must start with a '/'")


def _check_url(url: str, path: str, findings: Findings) -> None:
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError as error:
        findings.add(path, f"Required value: url must be a valid URL: {error}{_FORM}")
        return
    if parts.scheme != "https":
        findings.bad(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        findings.bad(path, host, f"host must be specified{_FORM}")
    if "@" in parts.netloc:
        user = parts.netloc.rpartition("@")[0]
        findings.bad(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        findings.bad(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        findings.bad(path, parts.query, "query parameters are not permitted in the URL")


def check_conditions(
    conditions: list[Any],
    path: str,
    findings: Findings,
    variables: tuple[str, ...] = _CONDITION_VARIABLES,
) -> None:
    """Check match conditions: names, and expressions that can be compiled and give a boolean."""
    if len(conditions) > MOST_CONDITIONS:
        count = len(conditions)
        findings.add(path, f"Too many: {count}: must have at most {MOST_CONDITIONS} items")
        return
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        name, text = condition.get("name") or "", condition.get("expression") or ""
        place = f"{path}[{index}]"
        if not name:
            findings.require(f"{place}.name")
        elif not _CONDITION.match(name.rpartition("/")[2]):
            findings.bad(f"{place}.name", name, "name part must consist of alphanumeric characters")
        elif name in names:
            findings.add(f"{place}.name", f"Duplicate value: {json.dumps(name)}")
        names.add(name)
        if not text.strip():
            findings.require(f"{place}.expression")
            continue
        why = check_expression(text, variables, None, ("bool",))
        if why:
            findings.bad(f"{place}.expression", text, why)


def _check_versions(versions: list[str], path: str, findings: Findings) -> None:
    path = f"{path}.admissionReviewVersions"
    if not versions:
        findings.add(path, f"Required value: must specify one of {', '.join(_REVIEWS)}")
    elif not set(versions) & set(_REVIEWS):
        why = f"must include at least one of {', '.join(_REVIEWS)}"
        findings.bad(path, _list(versions), why)
    for index, version in enumerate(versions):
        if version in versions[:index]:
            findings.bad(f"{path}[{index}]", version, "duplicate version")


def one_of(path: str, value: str, allowed: tuple[str, ...], findings: Findings) -> None:
    """Check that a value is one of those that are known."""
    if value not in allowed:
        known = ", ".join(f'"{each}"' for each in allowed)
        findings.add(path, f"Unsupported value: {json.dumps(value)}: supported values: {known}")


def _list(values: list[str]) -> Any:
    """Return texts as Go shows them in a refusal."""
    return json.loads(json.dumps(values))
