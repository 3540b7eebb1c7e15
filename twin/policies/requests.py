"""What policies look at: which writes they are about, and what their expressions see of one."""

from __future__ import annotations

from typing import Any

from twin.custom.cel_authorizer import request_resource
from twin.custom.policy_expressions import AUTHORIZER
from twin.rbac.attributes import Attributes
from twin.records import Object, ObjectRecord
from twin.store import Store
from twin.webhooks.answers import WebhookAnswers
from twin.webhooks.matching import GROUP, Write, version_for
from twin.webhooks.selecting import Pair, is_selected, served_versions

_OWN = frozenset({"validatingadmissionpolicies", "validatingadmissionpolicybindings"})


def is_about_policies(write: Write) -> bool:
    """Say whether a write is about a policy or a binding, which no policy looks at."""
    return write.kind.resource in _OWN and write.kind.group == GROUP


def records_of(store: Store, resource: str) -> list[ObjectRecord]:
    """Return all policies, or all bindings, by name."""
    return [one for one in store.records(resource) if isinstance(one, ObjectRecord)]


def bound_to(store: Store, bindings: str, policy: ObjectRecord) -> list[ObjectRecord]:
    """Return the bindings of a policy, by name."""
    known = records_of(store, bindings)
    return [one for one in known if one.body["spec"]["policyName"] == policy.name]


def matched_version(store: Store, write: Write, pair: Pair, constraints: Object) -> str | None:
    """Return the version in which constraints are about a write, None when they are not."""
    exact = constraints.get("matchPolicy") == "Exact"
    if not is_selected(store, write, constraints, pair):
        return None
    versions = served_versions(store, write.kind)
    excluded = constraints.get("excludeResourceRules") or ()
    if excluded and version_for(excluded, write, versions, exact=exact) is not None:
        return None
    rules = constraints.get("resourceRules") or ()
    return version_for(rules, write, versions, exact=exact) if rules else write.kind.version


def values_of(store: Store, write: Write, asked: Object) -> dict[str, Any]:
    """Return what expressions see of the request of a review, by name."""
    about = {name: value for name, value in asked.items() if name not in ("object", "oldObject")}
    home = None
    if write.namespace and write.kind.resource != "namespaces":
        record = store.find("namespaces", "", write.namespace)
        home = None if record is None else store.get("namespaces", "", write.namespace)
    return {
        "object": asked.get("object"),
        "oldObject": asked.get("oldObject"),
        "request": about,
        "namespaceObject": home,
        AUTHORIZER: {"requestResource": request_resource(about)},
    }


def decide(webhook_answers: WebhookAnswers, verb: str, check: Object) -> tuple[bool, str, str]:
    """Say what the user of a write may do; nothing where nobody knows who it is."""
    if webhook_answers.may is None:
        return False, "", "nobody decides about rights here"
    keys = ("group", "resource", "subresource", "namespace", "name")
    attributes = Attributes(verb, *(str(check.get(key, "")) for key in keys))
    decision = webhook_answers.may((verb, check["path"]) if "path" in check else attributes)
    return decision.allowed, decision.reason, decision.error
