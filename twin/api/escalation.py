"""Nobody hands out rights that it does not have: checks of Roles and bindings that are written.

Source: kubernetes.io/docs/reference/access-authn-authz/rbac, "Privilege escalation prevention and
bootstrapping".
"""

from __future__ import annotations

from twin.api.access import Attributes
from twin.api.rbac_access import RbacUser
from twin.errors import ApiError, forbidden, not_found
from twin.kinds import Kind
from twin.rbac.attributes import GROUP, MASTERS
from twin.rbac.authorizer import escalation_sentence
from twin.rbac.rules import rule_text, uncovered_rules
from twin.records import Object

_ROLES = frozenset({"roles", "clusterroles"})
_BINDINGS = frozenset({"rolebindings", "clusterrolebindings"})
_EVERYTHING: list[Object] = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
_COLLECTED = ("finalizers", "ownerReferences")


def check_escalation(kind: Kind, old: Object | None, new: Object, user: RbacUser) -> None:
    """Check a Role or binding that a user writes; raises ApiError 403, or 404 of a role that is bound."""
    if kind.group != GROUP or MASTERS in user.all_groups or _only_collected(old, new):
        return
    name, namespace = new["metadata"]["name"], new["metadata"].get("namespace", "")
    if kind.resource in _ROLES:
        if user.may(Attributes("escalate", GROUP, kind.resource, "", namespace, name)):
            return
        _require_held(kind, name, new.get("rules") or [], namespace, user)
        if (new.get("aggregationRule") or {}).get("clusterRoleSelectors"):
            _require_everything(kind, name, user)
    elif kind.resource in _BINDINGS:
        role = new["roleRef"]
        plural = "clusterroles" if role["kind"] == "ClusterRole" else "roles"
        if user.may(Attributes("bind", GROUP, plural, "", namespace, role["name"])):
            return
        try:
            rules = user.authorizer.referenced_rules(role, namespace)
        except ApiError:
            raise not_found(kind.resource, role["name"], group=GROUP) from None
        _require_held(kind, name, rules, namespace, user)


def _require_held(
    kind: Kind, name: str, rules: list[Object], namespace: str, user: RbacUser
) -> None:
    own, own_paths, errors = user.rules_in(namespace)
    missing = uncovered_rules([*own, *own_paths], rules)
    if missing:
        why = escalation_sentence(user.who, [rule_text(rule) for rule in missing], errors)
        raise forbidden(kind.resource, name, why, group=GROUP)


def _require_everything(kind: Kind, name: str, user: RbacUser) -> None:
    own, own_paths, _ = user.rules_in("")
    if uncovered_rules([*own, *own_paths], _EVERYTHING):
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise forbidden(kind.resource, name, why, group=GROUP)


def _only_collected(old: Object | None, new: Object) -> bool:
    """Say whether a write changes nothing but what garbage collection needs."""
    return old is not None and _without_collected(old) == _without_collected(new)


def _without_collected(obj: Object) -> Object:
    left_out = (*_COLLECTED, "managedFields", "resourceVersion")
    metadata = {key: value for key, value in obj["metadata"].items() if key not in left_out}
    return {**obj, "metadata": metadata}
