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

    def covers(self, asked: Attributes) -> bool:
        """Say whether this rule allows what is asked."""
        return (
            _allows(asked.verb, self.verbs)
            and _allows(asked.group, self.groups)
            and _allows(asked.full_resource, self.resources)
            and _allows(asked.namespace, self.namespaces)
            and (not self.names or asked.name in self.names)
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
    """User name of somebody whom the cluster does not know, and whom an administrator acts for."""

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

    def may(self, asked: Attributes) -> bool:
        """Say whether it may do that; everybody may ask about itself."""
        if asked.resource in _REVIEWS and asked.verb == "create":
            return True
        return any(rule.covers(asked) for rule in self.rules)

    def may_path(self, verb: str, path: str) -> bool:
        """Say whether it may use a path that is no resource."""
        if "*" in self.paths:
            return True
        below = any(path == one or path.startswith(f"{one}/") for one in self.paths)
        return below and verb == "get"

    def require(self, asked: Attributes) -> None:
        """Raise ApiError 403 in the API server's words when it may not."""
        if self.may(asked):
            return
        where = (
            f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
        )
        name = f' "{asked.name}"' if asked.name else ""
        message = (
            f"{qualified_resource(asked.resource, asked.group)}{name} is forbidden: "
            f'User "{self.user}" cannot {asked.verb} resource "{asked.full_resource}" '
            f'in API group "{asked.group}" {where}'
        )
        details = {"name": asked.name, "group": asked.group, "kind": asked.resource}
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
COLLECTOR = Identity("collector", (_READ_ALL,))
EXECUTOR = Identity(
    "executor",
    (
        _READ_ALL,
        Rule(("patch",), ("",), ("nodes",)),
        Rule(("patch",), ("apps",), ("deployments", "deployments/scale")),
        Rule(("patch",), ("batch",), ("jobs",)),
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
    known = {one.user: one for one in IDENTITIES}
    return known.get(user) or Identity("", (), stranger=user)


def _allows(value: str, allowed: Iterable[str]) -> bool:
    return any(one in ("*", value) for one in allowed)
