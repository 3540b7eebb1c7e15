"""Who may do what: the identities that the embedded cluster knows, each with its own token.

The services get no more than their work needs, so that a defect in one shows as a 403 here before
it meets a real cluster. Rules are those of Kubernetes' RBAC: they only allow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twin.errors import ApiError, qualified_resource

ALL = ("*",)
READ = ("get", "list", "watch")
_REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")


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


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a request does, in the words of RBAC."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def full_resource(self) -> str:
        """Return `pods/log` or `pods`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Identity:
    """One user."""

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
    """User name of an unknown user whom an administrator impersonates."""

    @property
    def user(self) -> str:
        """The user name that the API shows."""
        return self.stranger or f"foresail:{self.name}"

    @property
    def all_groups(self) -> tuple[str, ...]:
        """The groups that the API shows."""
        return (*self.groups, "system:authenticated")

    @property
    def uid(self) -> str:
        """An id of the user; the same in every world."""
        return hashlib.blake2b(self.user.encode(), digest_size=8).hexdigest()

    def may(self, attributes: Attributes) -> bool:
        """Say whether it may do that; every identity may ask about itself."""
        if attributes.resource in _REVIEWS and attributes.verb == "create":
            return True
        return any(rule.covers(attributes) for rule in self.rules)

    def may_path(self, verb: str, path: str) -> bool:
        """Say whether it may use a path that is no resource."""
        if "*" in self.paths:
            return True
        below = any(path == prefix or path.startswith(f"{prefix}/") for prefix in self.paths)
        return below and verb == "get"

    def require(self, attributes: Attributes) -> None:
        """Raise ApiError 403 in the API server's words when it may not."""
        if self.may(attributes):
            return
        where = (
            f'in the namespace "{attributes.namespace}"'
            if attributes.namespace
            else "at the cluster scope"
        )
        name = f' "{attributes.name}"' if attributes.name else ""
        message = (
            f"{qualified_resource(attributes.resource, attributes.group)}{name} is forbidden: "
            f'User "{self.user}" cannot {attributes.verb} resource "{attributes.full_resource}" '
            f'in API group "{attributes.group}" {where}'
        )
        details = {"name": attributes.name, "group": attributes.group, "kind": attributes.resource}
        raise ApiError(403, "Forbidden", message, {k: v for k, v in details.items() if v})

    def require_path(self, method: str, path: str) -> None:
        """Raise ApiError 403 when it may not use a path that is no resource."""
        verb = PATH_VERBS.get(method, method.lower())
        if not self.may_path(verb, path):
            message = f'forbidden: User "{self.user}" cannot {verb} path "{path}"'
            raise ApiError(403, "Forbidden", message)


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
        Rule(("delete",), ("",), ("pods",)),
    ),
)
EXERCISE_NAMESPACE = "foresail-exercise"
EXERCISER = Identity(
    "exerciser",
    (
        _READ_ALL,
        Rule(("create",), ("",), ("namespaces",)),
        Rule(("create", "delete", "patch"), ("apps",), ("deployments",), (EXERCISE_NAMESPACE,)),
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
