"""Who may do what in the embedded cluster: fixed identities alone, or RBAC besides them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Authorization = Literal["identities", "rbac"]
AUTHORIZATIONS: tuple[Authorization, ...] = get_args(Authorization)


@dataclass(frozen=True, slots=True)
class AccessConfig:
    """Authorization and what belongs to it."""

    authorization: Authorization = "identities"
    """`identities`: the fixed rules of docs/twin/api.md. `rbac`: those for the same users, and for
    everybody else the Roles and bindings of the cluster, with service accounts in every namespace."""
    authority_pem: str = ""
    """Certificate of the API server's authority, for the ConfigMap `kube-root-ca.crt`."""

    server_objects: bool = False
    """Whether what an API server makes for itself is there (`twin.bootstrap`): APIServices of its own
    groups, its Lease, IPAddresses, all default Roles, and in every namespace the account `default` and
    `kube-root-ca.crt`. A served twin has them."""

    @property
    def rbac(self) -> bool:
        """Whether Roles and bindings count."""
        return self.authorization == "rbac"
