"""Users whose rights are the Roles and bindings of the cluster, and for whom a request acts.

Source: kubernetes.io/docs/reference/access-authn-authz/user-impersonation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from twin.api.access import ADMIN, IDENTITIES, Identity, Requester, effective_identity
from twin.api.headers import IMPERSONATION
from twin.errors import bad_request
from twin.rbac.attributes import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    Attributes,
    Decision,
    User,
    account_groups,
    split_account,
)
from twin.rbac.authorizer import Authorizer
from twin.rbac.rules import quoted_list
from twin.records import Object
from twin.store import Store

_AUTHENTICATION = "authentication.k8s.io"
_EXTRA = "impersonate-extra-"
_FIXED = {identity.user: identity for identity in IDENTITIES}
NOBODY = Identity("anonymous", (), (UNAUTHENTICATED,), paths=(), stranger=ANONYMOUS)
"""Who sends no token."""


@dataclass(frozen=True, slots=True, eq=False)
class RbacUser(Requester):
    """A user whose rights are those of the cluster, and of its fixed identity where it has one."""

    who: User
    authorizer: Authorizer

    @property
    def user(self) -> str:
        """The user name that the API shows."""
        return self.who.name

    @property
    def uid(self) -> str:
        """The id of the user."""
        return self.who.uid

    @property
    def all_groups(self) -> tuple[str, ...]:
        """The groups that the API shows."""
        return self.who.groups

    @property
    def extra(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Whatever else is known of the user."""
        return self.who.extra

    @property
    def strict(self) -> bool:
        """Nobody learns without rights which paths there are."""
        return True

    def decide(self, attributes: Attributes) -> Decision:
        """Ask its fixed rules, then the cluster's."""
        fixed = _FIXED.get(self.who.name)
        if fixed is not None and fixed.may(attributes):
            return Decision(True)
        return self.authorizer.decide(self.who, attributes)

    def decide_path(self, verb: str, path: str) -> Decision:
        """Ask its fixed paths, then the cluster's rules."""
        fixed = _FIXED.get(self.who.name)
        if fixed is not None and fixed.may_path(verb, path):
            return Decision(True)
        return self.authorizer.decide_path(self.who, verb, path)

    def rules_in(self, namespace: str) -> tuple[list[Object], list[Object], list[str]]:
        """Return its rules in a namespace."""
        rules, missing = self.authorizer.rules_of(self.who, namespace)
        plain = [rule for rule in rules if not rule.get("nonResourceURLs")]
        paths = [rule for rule in rules if rule.get("nonResourceURLs")]
        fixed = _FIXED.get(self.who.name)
        if fixed is not None:
            more, more_paths, _ = fixed.rules_in(namespace)
            plain, paths = [*more, *plain], [*more_paths, *paths]
        return plain, paths, missing


class Access:
    """Says for whom a request acts, and who a named user is."""

    def __init__(self, store: Store, *, rbac: bool) -> None:
        """Use the fixed rules alone, or with `rbac` the Roles and bindings of `store` as well."""
        self.rbac = rbac
        self.authorizer = Authorizer(store)

    def requester(self, identity: Identity, headers: Mapping[str, str]) -> Requester:
        """Return for whom a request of somebody acts; raises ApiError 400 or 403."""
        if not self.rbac:
            return effective_identity(identity, headers)
        itself = self.of_user(User(identity.user, identity.uid, identity.all_groups, identity.more))
        if not any(name.startswith(IMPERSONATION) for name in headers):
            return itself
        return self._impersonated(itself, headers)

    def of_user(self, who: User) -> Requester:
        """Return a user by its name and groups."""
        if self.rbac:
            return RbacUser(who, self.authorizer)
        if "system:masters" in who.groups:
            return ADMIN
        return _FIXED.get(who.name) or Identity("", (), paths=(), stranger=who.name)

    def _impersonated(self, itself: Requester, headers: Mapping[str, str]) -> Requester:
        name = headers.get("impersonate-user", "")
        groups = _values(headers, "impersonate-group")
        uid = headers.get("impersonate-uid", "")
        extra = {
            unquote(header.removeprefix(_EXTRA)): _values(headers, header)
            for header in sorted(headers)
            if header.startswith(_EXTRA)
        }
        if not name:
            if not (groups or uid or extra):
                return itself
            stated = f'Name:"", UID:"{uid}", Groups:[]string{{{quoted_list(groups)[1:-1]}}}'
            raise bad_request(f"requested {stated} without impersonating a user name")
        account = split_account(name)
        if account is None:
            itself.require(Attributes("impersonate", "", "users", name=name))
        else:
            itself.require(Attributes("impersonate", "", "serviceaccounts", "", *account))
        for group in groups:
            itself.require(Attributes("impersonate", "", "groups", name=group))
        for key, values in extra.items():
            for value in values:
                wanted = Attributes("impersonate", _AUTHENTICATION, "userextras", key, name=value)
                itself.require(wanted)
        if uid:
            itself.require(Attributes("impersonate", _AUTHENTICATION, "uids", name=uid))
        if account is not None and not groups:
            groups = account_groups(account[0])
        return self.of_user(User(name, uid, _with_everybody(name, groups), tuple(extra.items())))


def _with_everybody(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return groups with the one of all users that it belongs to."""
    everybody = UNAUTHENTICATED if name == ANONYMOUS else AUTHENTICATED
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, everybody)


def _values(headers: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the values of a header that may be there several times; see `Request.headers`."""
    return tuple(headers[name].split("\n")) if name in headers else ()
