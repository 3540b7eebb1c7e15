"""What a request does, and who makes it, in the words of RBAC."""

from __future__ import annotations

from dataclasses import dataclass

GROUP = "rbac.authorization.k8s.io"
MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = "system:anonymous"
ACCOUNT_PREFIX = "system:serviceaccount:"
ACCOUNTS = "system:serviceaccounts"


@dataclass(frozen=True, slots=True)
class Attributes:
    """A request for a resource."""

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
class User:
    """Who asks; `extra` are pairs of a key and its values."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a request is allowed; why, and what could not be evaluated."""

    allowed: bool
    reason: str = ""
    error: str = ""


def account_user(namespace: str, name: str) -> str:
    """Return the user name of a service account."""
    return f"{ACCOUNT_PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    """Return the groups of the service accounts of a namespace."""
    return (ACCOUNTS, f"{ACCOUNTS}:{namespace}")


def split_account(user: str) -> tuple[str, str] | None:
    """Return namespace and name of a service account's user name; None for other users."""
    namespace, colon, name = user.removeprefix(ACCOUNT_PREFIX).partition(":")
    if not user.startswith(ACCOUNT_PREFIX) or not (namespace and colon and name) or ":" in name:
        return None
    return namespace, name
