"""Who may do what: the identities that the embedded cluster knows, each with its own token.

The services get no more than their work needs, so that a defect in one shows as a 403 here before
it meets a real cluster. Rules are those of Kubernetes' RBAC: they only allow. Where Roles and bindings count
as well (`rbac_access.py`), they come on top.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twin.errors import ApiError, qualified_resource
from twin.rbac.attributes import AUTHENTICATED, UNAUTHENTICATED, Attributes, Decision
from twin.records import Object

__all__ = ["Attributes", "Decision", "Identity", "Requester"]

ALL = ("*",)
READ = ("get", "list", "watch")
_SELF_REVIEWS = (
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
)
_REVIEWS = frozenset(plural for _, plural in _SELF_REVIEWS)


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources; `namespaces` other than `*` allow only what is inside them."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    namespaces: tuple[str, ...] = ALL
    names: tuple[str, ...] = ()

    def covers(self, attributes: Attributes) -> bool:
        """Say whether this rule allows a request."""
        return (
            _allows(attributes.verb, self.verbs)
            and _allows(attributes.group, self.groups)
            and _allows(attributes.full_resource, self.resources)
            and _allows(attributes.namespace, self.namespaces)
            and (not self.names or attributes.name in self.names)
        )

    def as_policy(self) -> Object:
        """Return it in the form of RBAC, without its namespaces."""
        return {
            "verbs": list(self.verbs),
            "apiGroups": list(self.groups),
            "resources": list(self.resources),
            **({"resourceNames": list(self.names)} if self.names else {}),
        }


class Requester(ABC):
    """Who makes a request, and what it may do."""

    __slots__ = ()

    @property
    @abstractmethod
    def user(self) -> str:
        """The user name that the API shows."""

    @property
    @abstractmethod
    def uid(self) -> str:
        """An id of the user; empty for none."""

    @property
    @abstractmethod
    def all_groups(self) -> tuple[str, ...]:
        """The groups that the API shows."""

    @property
    @abstractmethod
    def extra(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Whatever else is known of the user: keys with their values."""

    @abstractmethod
    def decide(self, attributes: Attributes) -> Decision:
        """Say whether it may do something to a resource."""

    @abstractmethod
    def decide_path(self, verb: str, path: str) -> Decision:
        """Say whether it may use a path that is no resource."""

    @abstractmethod
    def rules_in(self, namespace: str) -> tuple[list[Object], list[Object], list[str]]:
        """Return its rules for resources and for paths in a namespace, and what could not be evaluated."""

    @property
    def strict(self) -> bool:
        """Whether paths that do not exist are refused before they are looked up."""
        return False

    def may(self, attributes: Attributes) -> bool:
        """Say whether it may do that."""
        return self.decide(attributes).allowed

    def may_path(self, verb: str, path: str) -> bool:
        """Say whether it may use a path that is no resource."""
        return self.decide_path(verb, path).allowed

    def require(self, attributes: Attributes) -> None:
        """Raise ApiError 403 in the API server's words when it may not."""
        decision = self.decide(attributes)
        if decision.allowed:
            return
        where = (
            f'in the namespace "{attributes.namespace}"'
            if attributes.namespace
            else "at the cluster scope"
        )
        name = f' "{attributes.name}"' if attributes.name else ""
        why = _escape(
            f'User "{self.user}" cannot {attributes.verb} resource "{attributes.full_resource}" '
            f'in API group "{attributes.group}" {where}'
        )
        message = (
            f"{qualified_resource(attributes.resource, attributes.group)}{name} is forbidden: {why}"
            f"{_reason(decision)}"
        )
        details = {"name": attributes.name, "group": attributes.group, "kind": attributes.resource}
        raise ApiError(403, "Forbidden", message, {k: v for k, v in details.items() if v})

    def require_path(self, method: str, path: str) -> None:
        """Raise ApiError 403 when it may not use a path that is no resource."""
        verb = PATH_VERBS.get(method, method.lower())
        decision = self.decide_path(verb, path)
        if not decision.allowed:
            why = _escape(f'User "{self.user}" cannot {verb} path "{path}"')
            raise ApiError(403, "Forbidden", f"forbidden: {why}{_reason(decision)}")


@dataclass(frozen=True, slots=True)
class Identity(Requester):
    """One user that has a token, with fixed rules."""

    name: str
    rules: tuple[Rule, ...]
    groups: tuple[str, ...] = ()
    paths: tuple[str, ...] = (
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/openapi",
        "/readyz",
        "/version",
    )
    """Paths outside the resources that it may read, each with all below it; `*`: all, any verb."""

    stranger: str = ""
    """User name of somebody who has no fixed rules."""
    given_uid: str = ""
    more: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Whatever else is known of the user."""

    @property
    def user(self) -> str:
        """The user name that the API shows."""
        return self.stranger or f"foresail:{self.name}"

    @property
    def all_groups(self) -> tuple[str, ...]:
        """The groups that the API shows."""
        if UNAUTHENTICATED in self.groups or AUTHENTICATED in self.groups:
            return self.groups
        return (*self.groups, AUTHENTICATED)

    @property
    def uid(self) -> str:
        """An id of the user; the same in every world unless it was given."""
        return self.given_uid or hashlib.blake2b(self.user.encode(), digest_size=8).hexdigest()

    @property
    def extra(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Whatever else is known of the user."""
        return self.more

    def decide(self, attributes: Attributes) -> Decision:
        """Say whether a rule allows that; every identity may ask about itself."""
        if attributes.resource in _REVIEWS and attributes.verb == "create":
            return Decision(True)
        return Decision(any(rule.covers(attributes) for rule in self.rules))

    def decide_path(self, verb: str, path: str) -> Decision:
        """Say whether it may use a path that is no resource."""
        if "*" in self.paths:
            return Decision(True)
        below = any(path == prefix or path.startswith(f"{prefix}/") for prefix in self.paths)
        return Decision(below and verb == "get")

    def rules_in(self, namespace: str) -> tuple[list[Object], list[Object], list[str]]:
        """Return its rules, with those for reviews of itself, in the form of RBAC."""
        rules = [rule.as_policy() for rule in self.rules if {"*", namespace} & set(rule.namespaces)]
        rules += [
            {"verbs": ["create"], "apiGroups": [group], "resources": [plural]}
            for group, plural in _SELF_REVIEWS
        ]
        paths: list[Object] = [
            {"verbs": ["*" if path == "*" else "get"], "nonResourceURLs": [path]}
            for path in self.paths
        ]
        return rules, paths, []


PATH_VERBS = {"GET": "get", "POST": "post", "PUT": "put", "PATCH": "patch", "DELETE": "delete"}
_READ_ALL = Rule(READ, ALL, ALL)
ADMIN = Identity("admin", (Rule(ALL, ALL, ALL),), ("system:masters",), ("*",))
READER = Identity("reader", (_READ_ALL,))
COLLECTOR = Identity("collector", (_READ_ALL,), paths=(*READER.paths, "/metrics"))
EXECUTOR = Identity(
    "executor",
    (
        _READ_ALL,
        Rule(("patch",), ("",), ("nodes",)),
        Rule(("patch",), ("apps",), ("deployments", "deployments/scale")),
        Rule(("patch",), ("batch",), ("jobs",)),
        Rule(("patch",), ("autoscaling",), ("horizontalpodautoscalers",)),
        Rule(("create",), ("",), ("pods/eviction",)),
        Rule(("patch",), ("",), ("pods/resize",)),
        Rule(("delete",), ("",), ("pods",)),
        Rule(("create", "delete"), ("",), ("resourcequotas",)),
        Rule(("delete",), ("karpenter.sh",), ("nodeclaims",)),
    ),
)
EXERCISE_NAMESPACES = ("foresail-exercise", "borg-orchestrator-exercise")
"""The exerciser's own, and the one of the first predecessor's commands."""
EXERCISER = Identity(
    "exerciser",
    (
        _READ_ALL,
        Rule(("create",), ("",), ("namespaces",)),
        Rule(("create", "delete", "patch"), ("apps",), ("deployments",), EXERCISE_NAMESPACES),
        Rule(("create", "delete"), ("batch",), ("jobs",), EXERCISE_NAMESPACES),
    ),
)
IDENTITIES = (ADMIN, READER, COLLECTOR, EXECUTOR, EXERCISER)


def effective_identity(identity: Identity, headers: Mapping[str, str]) -> Identity:
    """Return who a request acts for (`kubectl --as`); raises ApiError 403 for all but
    administrators. Groups add no rights, since no rule names one.
    """
    user = headers.get("impersonate-user", "")
    if not user:
        return identity
    identity.require(Attributes("impersonate", "", "users", name=user))
    known = {identity.user: identity for identity in IDENTITIES}
    return known.get(user) or Identity("", (), stranger=user)


def _allows(value: str, allowed: Iterable[str]) -> bool:
    return any(pattern in ("*", value) for pattern in allowed)


def _escape(text: str) -> str:
    """Return text as the API server writes it into refusals."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _reason(decision: Decision) -> str:
    return f": {decision.reason}" if decision.reason else ""
