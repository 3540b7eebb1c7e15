"""What another API server has to know to believe the twin who asks: a ConfigMap in kube-system, and who may read it.

Facts of Kubernetes 1.36: pkg/controlplane/controller/clusterauthenticationtrust, and the bootstrap policy of
namespaces.
"""

from __future__ import annotations

import json

from twin.rbac.attributes import GROUP
from twin.rbac.default_roles import head_of
from twin.store import Store

USER_HEADER, GROUP_HEADER, EXTRA_PREFIX = "X-Remote-User", "X-Remote-Group", "X-Remote-Extra-"
PROXY_NAME = "front-proxy-client"
"""Common name of the front proxy's certificate."""
_HOME = "kube-system"
_NAME = "extension-apiserver-authentication"
_READER = "extension-apiserver-authentication-reader"


def add_extension_trust(store: Store, authority_pem: str) -> None:
    """Create the ConfigMap with the authority's certificate, and the Role and binding to read it; kube-system has to be
    there.
    """
    data = {
        "client-ca-file": authority_pem,
        "requestheader-client-ca-file": authority_pem,
        "requestheader-allowed-names": json.dumps([PROXY_NAME]),
        "requestheader-username-headers": json.dumps([USER_HEADER]),
        "requestheader-group-headers": json.dumps([GROUP_HEADER]),
        "requestheader-extra-headers-prefix": json.dumps([EXTRA_PREFIX]),
        "requestheader-uid-headers": json.dumps([]),
    }
    store.create("configmaps", _HOME, {"metadata": {"name": _NAME}, "data": data})
    rule = {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [_NAME],
        "verbs": ["get", "list", "watch"],
    }
    store.create("roles", _HOME, {**head_of(_READER), "rules": [rule]})
    users = ("system:kube-controller-manager", "system:kube-scheduler")
    binding = {
        **head_of(f"system::{_READER}"),
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": _READER},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": name} for name in users],
    }
    store.create("rolebindings", _HOME, binding)
