"""What every cluster has from its start on besides its namespaces: the API server as a Service.

Clients look for `kubernetes` in `default`: `kubectl get all` shows it, and programs find the API
server by it. Nothing is routed: its address is that of the first service network of kubeadm.
"""

from __future__ import annotations

from twin.records import Object
from twin.store import Store

ADDRESS = "10.96.0.1"
PORT = 6443
_LABELS = {"component": "apiserver", "provider": "kubernetes"}
SERVICE: Object = {
    "metadata": {"name": "kubernetes", "labels": _LABELS},
    "spec": {
        "type": "ClusterIP",
        "clusterIP": ADDRESS,
        "clusterIPs": [ADDRESS],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": PORT}],
        "sessionAffinity": "None",
    },
    "status": {"loadBalancer": {}},
}
ENDPOINTS: Object = {
    "metadata": {
        "name": "kubernetes",
        "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
    },
    "subsets": [
        {
            "addresses": [{"ip": "127.0.0.1"}],
            "ports": [{"name": "https", "port": PORT, "protocol": "TCP"}],
        }
    ],
}


SLICE: Object = {
    "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}],
    "ports": [{"name": "https", "port": PORT, "protocol": "TCP"}],
}


def add_system_objects(store: Store) -> None:
    """Create them; the namespace `default` has to be there."""
    store.create("services", "default", SERVICE)
    store.create("endpoints", "default", ENDPOINTS)


def add_own_slice(store: Store) -> None:
    """Create the EndpointSlice of that Service."""
    store.create("endpointslices", "default", SLICE)
