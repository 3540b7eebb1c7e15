"""Defaults and checks of FlowSchemas and their priority levels.

Nothing in the twin acts on them: requests are answered in the order in which they come. Source: kubernetes/kubernetes
pkg/apis/flowcontrol (defaults and validation at 1.36).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from twin.admission import metadata, rules
from twin.admission.findings import Findings
from twin.records import Object

_PRECEDENCE, _MOST_PRECEDENCE = 1_000, 10_000
_EXEMPT, _CATCH_ALL = "exempt", "catch-all"
_SHARES = 30
_QUEUING = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
_MOST_QUEUES = 10_000_000
_MOST_BITS = 60
"""Of a hash from which a hand of queues is dealt."""
_PERCENT = "must be between 0 and 100, inclusive"
_POSITIVE = "must be a positive value"
_COUNT = "must be a non-negative integer"
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_ORDER = ("ServiceAccount", "User", "Group")
"""In which order a refusal names what a subject of another kind may not have."""
_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
)
_EACH_NAMESPACE = "each member of this list must be '*' or a DNS-1123 label; "


def schema(obj: Object, findings: Findings) -> None:
    """Default and check a FlowSchema in place."""
    spec = obj.setdefault("spec", {})
    obj.setdefault("status", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = _PRECEDENCE
    if not spec.get("rules"):
        spec.pop("rules", None)
    precedence, at = spec["matchingPrecedence"], "spec.matchingPrecedence"
    if precedence <= 0:
        findings.bad(at, precedence, _POSITIVE)
    elif precedence > _MOST_PRECEDENCE:
        findings.bad(at, precedence, f"must not be greater than {_MOST_PRECEDENCE}")
    elif precedence == 1 and obj["metadata"].get("name") != _EXEMPT:
        findings.bad(at, 1, f"only the schema named '{_EXEMPT}' may have matchingPrecedence 1")
    method = (spec.get("distinguisherMethod") or {}).get("type")
    if spec.get("distinguisherMethod") is not None and method not in ("ByUser", "ByNamespace"):
        at = "spec.distinguisherMethod.type"
        findings.unsupported(at, {"Type": method or ""}, ("ByUser", "ByNamespace"))
    named, at = (
        (spec.get("priorityLevelConfiguration") or {}).get("name"),
        "spec.priorityLevelConfiguration.name",
    )
    if named:
        rules.subdomain(at, named, findings)
    else:
        findings.require(at, "must reference a priority level")
    for index, rule in enumerate(spec.get("rules") or ()):
        _check_rule(f"spec.rules[{index}]", rule, findings)


def _check_rule(path: str, rule: Object, findings: Findings) -> None:
    subjects = rule.get("subjects") or ()
    if not subjects:
        findings.require(f"{path}.subjects", "subjects must contain at least one value")
    for index, subject in enumerate(subjects):
        _check_subject(f"{path}.subjects[{index}]", subject, findings)
    plain, others = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not plain and not others:
        findings.require(
            path, "at least one of resourceRules and nonResourceRules has to be non-empty"
        )
    for index, each in enumerate(plain):
        _check_resource_rule(f"{path}.resourceRules[{index}]", each, findings)
    for index, each in enumerate(others):
        _check_page_rule(f"{path}.nonResourceRules[{index}]", each, findings)


def _check_subject(path: str, subject: Object, findings: Findings) -> None:
    kind = subject.get("kind") or ""
    own = _SUBJECTS.get(kind)
    if own is None:
        findings.unsupported(f"{path}.kind", kind, _SUBJECTS)
        return
    given = subject.get(own)
    if given is None:
        findings.require(f"{path}.{own}", f"{own} is required when subject kind is '{kind}'")
    elif kind == "ServiceAccount":
        _check_account(f"{path}.{own}", given, findings)
    elif not given.get("name"):
        findings.require(f"{path}.{own}.name")
    for other in _ORDER:
        field = _SUBJECTS[other]
        if field != own and subject.get(field) is not None:
            findings.forbid(
                f"{path}.{field}", f"{field} is forbidden when subject kind is not '{other}'"
            )


def _check_account(path: str, account: Object, findings: Findings) -> None:
    name, home = account.get("name") or "", account.get("namespace") or ""
    if not name:
        findings.require(f"{path}.name")
    elif name != "*":
        rules.subdomain(f"{path}.name", name, findings)
    if home:
        rules.dns_label(f"{path}.namespace", home, findings)
    else:
        findings.require(f"{path}.namespace", "must specify namespace for service account")


def _check_resource_rule(path: str, rule: Object, findings: Findings) -> None:
    _check_verbs(path, rule.get("verbs") or [], findings)
    for field, one, many in (
        ("apiGroups", "api group", "api groups"), ("resources", "resource", "resources"),
    ):  # fmt: skip
        names = rule.get(field) or []
        if not names:
            findings.require(f"{path}.{field}", f"resource rules must supply at least one {one}")
        _check_alone(f"{path}.{field}", names, many, findings)
    spaces = rule.get("namespaces") or []
    if not spaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        findings.require(f"{path}.namespaces", why)
    elif "*" in spaces:
        _check_alone(f"{path}.namespaces", spaces, "namespaces", findings)
    else:
        for index, name in enumerate(spaces):
            if not metadata.DNS_LABEL.match(name):
                why = f"{_EACH_NAMESPACE}{metadata.LABEL_RULE}"
                findings.bad(f"{path}.namespaces[{index}]", name, why)


def _check_page_rule(path: str, rule: Object, findings: Findings) -> None:
    _check_verbs(path, rule.get("verbs") or [], findings)
    pages, at = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    if not pages:
        findings.require(at, "nonResourceURLs must contain at least one value")
    elif "*" in pages:
        _check_alone(at, pages, "non-resource URLs", findings)
    else:
        for index, page in enumerate(pages):
            if why := _page_problem(page):
                findings.bad(f"{at}[{index}]", page, why)


def _page_problem(page: str) -> str:
    """Return what is wrong with a path of a rule; empty when nothing is."""
    if not page:
        return "must not be empty"
    if page == "/":
        return ""
    if not page.startswith("/"):
        return "must start with slash"
    if " " in page:
        return "must not contain white-space"
    if "//" in page:
        return "must not contain double slash"
    if "*" in page.removesuffix("/*"):
        return "wildcard can only do suffix matching"
    return ""


def _check_verbs(path: str, verbs: Sequence[str], findings: Findings) -> None:
    if not verbs:
        findings.require(f"{path}.verbs", "verbs must contain at least one value")
    elif "*" in verbs:
        _check_alone(f"{path}.verbs", verbs, "verbs", findings)
    elif path.rpartition(".")[2].startswith("resourceRules") and not set(verbs) <= set(_VERBS):
        findings.unsupported(f"{path}.verbs", list(verbs), _VERBS)


def _check_alone(path: str, names: Sequence[str], what: str, findings: Findings) -> None:
    if "*" in names and len(names) > 1:
        findings.bad(path, list(names), f"if '*' is present, must not specify other {what}")


def level(obj: Object, findings: Findings) -> None:
    """Default and check a PriorityLevelConfiguration in place."""
    spec, name = obj.setdefault("spec", {}), obj["metadata"].get("name")
    obj.setdefault("status", {})
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if exempt is None and kind == "Exempt" and name == _EXEMPT:
        exempt = spec["exempt"] = {}
    if limited is not None:
        _default_limits(limited)
    if exempt is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)
    if kind not in ("Exempt", "Limited"):
        findings.unsupported("spec.type", kind, ("Exempt", "Limited"))
        return
    if (kind == "Exempt") != (name == _EXEMPT):
        findings.bad("spec.type", kind, f"must be 'Exempt' if and only if `name` is '{_EXEMPT}'")
    if kind == "Limited":
        if exempt is not None:
            findings.forbid("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            findings.require("spec.limited", "must not be empty when type is Limited")
        else:
            _check_limits(limited, findings)
        return
    if limited is not None:
        findings.forbid("spec.limited", "must be nil if the type is not Limited")
    if exempt is not None:
        _check_shares("spec.exempt", exempt, findings)
        _check_percent("spec.exempt", exempt, findings)


def _default_limits(limited: Object) -> None:
    limited.setdefault("nominalConcurrencyShares", _SHARES)
    limited.setdefault("lendablePercent", 0)
    queuing = (limited.get("limitResponse") or {}).get("queuing")
    for name, number in _QUEUING.items():
        if queuing is not None and not queuing.get(name):
            queuing[name] = number


def _check_limits(limited: Object, findings: Findings) -> None:
    _check_shares("spec.limited", limited, findings)
    response, at = limited.get("limitResponse") or {}, "spec.limited.limitResponse"
    kind, queuing = response.get("type") or "", response.get("queuing")
    if kind not in ("Queue", "Reject"):
        findings.unsupported(f"{at}.type", kind, ("Queue", "Reject"))
    elif kind == "Queue":
        if queuing is None:
            why = "must not be empty if limited.limitResponse.type is Limited"
            findings.require(f"{at}.queuing", why)
        else:
            _check_queuing(f"{at}.queuing", queuing, findings)
    elif queuing is not None:
        findings.forbid(f"{at}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    _check_percent("spec.limited", limited, findings)
    borrowed = limited.get("borrowingLimitPercent")
    if borrowed is not None and borrowed < 0:
        why = f"if specified, {_COUNT}"
        findings.bad("spec.limited.borrowingLimitPercent", borrowed, why)


def _check_shares(path: str, part: Object, findings: Findings) -> None:
    shares = part["nominalConcurrencyShares"]
    if shares < 0:
        findings.bad(f"{path}.nominalConcurrencyShares", shares, _COUNT)


def _check_percent(path: str, part: Object, findings: Findings) -> None:
    if not 0 <= part["lendablePercent"] <= 100:
        findings.bad(f"{path}.lendablePercent", part["lendablePercent"], _PERCENT)


def _check_queuing(path: str, queuing: Object, findings: Findings) -> None:
    longest, queues, hand = (queuing[name] for name in ("queueLengthLimit", "queues", "handSize"))
    if longest <= 0:
        findings.bad(f"{path}.queueLengthLimit", longest, "must be positive")
    if queues <= 0:
        findings.bad(f"{path}.queues", queues, "must be positive")
    elif queues > _MOST_QUEUES:
        findings.bad(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}")
    if hand <= 0:
        findings.bad(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        findings.bad(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _MOST_BITS:
        why = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than "
            f"{_MOST_BITS}"
        )
        findings.bad(f"{path}.handSize", hand, why)


# ---- what stays as the server made it


def check_fixed(old: Object, new: Object, findings: Findings) -> None:
    """Check that the schemas and levels `exempt` and `catch-all` stay as they are."""
    name = old["metadata"]["name"]
    if name not in (_EXEMPT, _CATCH_ALL):
        return
    before, after = dict(old["spec"]), dict(new["spec"])
    free = "" if "rules" in before or name != _EXEMPT else " except the 'spec.exempt' field"
    if free:
        before.pop("exempt", None), after.pop("exempt", None)
    if before != after:
        why = f"spec of '{name}'{free} must equal the fixed value"
        findings.bad("spec", _in_go(new["spec"], _SCHEMA if "rules" in before else _LEVEL), why)


_Form = dict[str, Any]
_SUBJECT: _Form = {
    "kind": ("Kind", ""),
    "user": ("User", {"name": ("Name", "")}),
    "group": ("Group", {"name": ("Name", "")}),
    "serviceAccount": ("ServiceAccount", {"namespace": ("Namespace", ""), "name": ("Name", "")}),
}
_RULE: _Form = {
    "subjects": ("Subjects", [_SUBJECT]),
    "resourceRules": ("ResourceRules", [{
        "verbs": ("Verbs", None), "apiGroups": ("APIGroups", None), "resources": ("Resources", None),
        "clusterScope": ("ClusterScope", False), "namespaces": ("Namespaces", None),
    }]),
    "nonResourceRules": ("NonResourceRules", [{
        "verbs": ("Verbs", None), "nonResourceURLs": ("NonResourceURLs", None),
    }]),
}  # fmt: skip
_SCHEMA: _Form = {
    "priorityLevelConfiguration": ("PriorityLevelConfiguration", {"name": ("Name", "")}),
    "matchingPrecedence": ("MatchingPrecedence", 0),
    "distinguisherMethod": ("DistinguisherMethod", {"type": ("Type", "")}),
    "rules": ("Rules", [_RULE]),
}
_QUEUES: _Form = {
    "queues": ("Queues", 0), "handSize": ("HandSize", 0), "queueLengthLimit": ("QueueLengthLimit", 0),
}  # fmt: skip
_LEVEL: _Form = {
    "type": ("Type", ""),
    "limited": ("Limited", {
        "nominalConcurrencyShares": ("NominalConcurrencyShares", 0),
        "limitResponse": ("LimitResponse", {"type": ("Type", ""), "queuing": ("Queuing", _QUEUES)}),
        "lendablePercent": ("LendablePercent", 0),
        "borrowingLimitPercent": ("BorrowingLimitPercent", None),
    }),
    "exempt": ("Exempt", {
        "nominalConcurrencyShares": ("NominalConcurrencyShares", 0), "lendablePercent": ("LendablePercent", 0),
    }),
}  # fmt: skip
"""Fields as a refusal shows them, with what stands there when nothing is said."""
_ALWAYS = frozenset({"limitResponse", "priorityLevelConfiguration"})


def _in_go(value: Object, form: _Form) -> Object:
    """Return a part of a spec as a refusal shows it: by the names of the server's own types."""
    shown: Object = {}
    for name, (inner_name, below) in form.items():
        given = value.get(name)
        if isinstance(below, dict):
            known = given if given is not None or name not in _ALWAYS else {}
            shown[inner_name] = None if known is None else _in_go(known, below)
        elif isinstance(below, list):
            shown[inner_name] = (
                None if given is None else [_in_go(each, below[0]) for each in given]
            )
        else:
            shown[inner_name] = below if given is None else given
    return shown
