"""What an API server makes for itself, and clients look for."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import OverHttp, Place

RBAC = "/apis/rbac.authorization.k8s.io/v1"
FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"
NETWORKS = "/apis/networking.k8s.io/v1"
SCHEMAS = {
    "exempt": ("exempt", 1),
    "probes": ("exempt", 2),
    "system-leader-election": ("leader-election", 100),
    "system-node-high": ("node-high", 400),
    "system-nodes": ("system", 500),
    "kube-controller-manager": ("workload-high", 800),
    "kube-scheduler": ("workload-high", 800),
    "kube-system-service-accounts": ("workload-high", 900),
    "service-accounts": ("workload-low", 9_000),
    "global-default": ("global-default", 9_900),
    "catch-all": ("catch-all", 10_000),
}
SHARES = {
    "leader-election": 10,
    "node-high": 40,
    "system": 30,
    "workload-high": 40,
    "workload-low": 100,
    "global-default": 20,
    "catch-all": 5,
}
GROUPS = {
    "v1.": (18_000, 1),
    "v1.apps": (17_800, 15),
    "v1.autoscaling": (17_500, 15),
    "v2.autoscaling": (17_500, 30),
    "v1.flowcontrol.apiserver.k8s.io": (16_100, 21),
    "v1.resource.k8s.io": (16_200, 21),
    "v1.storage.k8s.io": (16_800, 15),
}


def _items(place: Place, path: str, labels: str = "") -> dict[str, dict[str, Any]]:
    answer = place.face.ask("GET", path, query={"labelSelector": labels} if labels else None)
    assert answer.status == 200, answer.text
    return {item["metadata"]["name"]: item for item in answer.body["items"]}


def test_the_first_flow_schemas(place: Place) -> None:
    """Each with its level and precedence, kept up to date by the server, and its level there."""
    found = _items(place, f"{FLOWS}/flowschemas")
    for name, (level, precedence) in SCHEMAS.items():
        spec = found[name]["spec"]
        assert spec["priorityLevelConfiguration"] == {"name": level}
        assert spec["matchingPrecedence"] == precedence
        annotations = found[name]["metadata"]["annotations"]
        assert annotations == {"apf.kubernetes.io/autoupdate-spec": "true"}
        (condition,) = found[name]["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("Dangling", "False")
    masters = [{"kind": "Group", "group": {"name": "system:masters"}}]
    assert found["exempt"]["spec"]["rules"][0]["subjects"] == masters
    assert "resourceRules" not in found["probes"]["spec"]["rules"][0]


def test_the_first_priority_levels(place: Place) -> None:
    """`exempt` waits for nothing, `catch-all` has no queues, and the others have their shares."""
    found = _items(place, f"{FLOWS}/prioritylevelconfigurations")
    exempt = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}
    assert found["exempt"]["spec"] == exempt
    for name, shares in SHARES.items():
        assert found[name]["spec"]["limited"]["nominalConcurrencyShares"] == shares
    assert found["catch-all"]["spec"]["limited"]["limitResponse"] == {"type": "Reject"}
    assert found["system"]["spec"]["limited"]["lendablePercent"] == 33


def test_an_answer_names_a_flow_that_is_there(over_http: Place) -> None:
    """The uids of its headers are those of objects."""
    assert isinstance(over_http.face, OverHttp)
    headers = over_http.face.ask("GET", "/api/v1/namespaces").headers
    for kind, header in (
        ("flowschemas", "X-Kubernetes-PF-FlowSchema-UID"),
        ("prioritylevelconfigurations", "X-Kubernetes-PF-PriorityLevel-UID"),
    ):
        assert headers[header] == _items(over_http, f"{FLOWS}/{kind}")["exempt"]["metadata"]["uid"]


def test_the_servers_own_groups_have_api_services(place: Place) -> None:
    """Available because they are local, and ordered as in discovery."""
    label = "kube-aggregator.kubernetes.io/automanaged=onstart"
    found = _items(place, "/apis/apiregistration.k8s.io/v1/apiservices", label)
    for name, priorities in GROUPS.items():
        spec = found[name]["spec"]
        assert (spec["groupPriorityMinimum"], spec["versionPriority"]) == priorities
        (condition,) = found[name]["status"]["conditions"]
        wanted = ("Available", "True", "Local")
        assert tuple(condition[key] for key in ("type", "status", "reason")) == wanted
    assert "group" not in found["v1."]["spec"]


def test_the_server_has_a_lease(place: Place) -> None:
    """One that is renewed, by which one counts the API servers."""
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    label = "apiserver.kubernetes.io/identity=kube-apiserver"
    ((name, lease),) = _items(place, path, label).items()
    assert name.startswith("apiserver-")
    assert lease["spec"]["leaseDurationSeconds"] == 3_600
    assert lease["spec"]["holderIdentity"].startswith(f"{name}_")
    assert "renewTime" in lease["spec"]
    assert "kubernetes.io/hostname" in lease["metadata"]["labels"]


def test_the_server_says_since_when_it_notes_old_tokens(place: Place) -> None:
    """A ConfigMap with a day."""
    path = "/api/v1/namespaces/kube-system/configmaps"
    name = "kube-apiserver-legacy-service-account-token-tracking"
    since = place.face.ask("GET", f"{path}/{name}").body["data"]["since"]
    assert time.strptime(since, "%Y-%m-%d")


def test_the_server_is_a_service_with_a_slice(place: Place) -> None:
    """default/kubernetes has the first address of its range, and its slice says where the server is."""
    home = "namespaces/default"
    service = place.face.ask("GET", f"/api/v1/{home}/services/kubernetes").body
    found = place.face.ask("GET", f"/apis/discovery.k8s.io/v1/{home}/endpointslices/kubernetes")
    assert found.body["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
    (port,) = found.body["ports"]
    assert port["port"] == service["spec"]["ports"][0]["targetPort"]
    assert found.body["endpoints"][0]["conditions"] == {"ready": True}
    address = place.face.ask("GET", f"{NETWORKS}/ipaddresses/{service['spec']['clusterIP']}").body
    parent = {"resource": "services", "namespace": "default", "name": "kubernetes"}
    assert address["spec"]["parentRef"] == parent


def test_the_range_of_services_is_ready(collected_place: Place) -> None:
    """The ServiceCIDR `kubernetes`, as its controller keeps it."""
    deadline, path = time.monotonic() + HANGS_SECONDS, f"{NETWORKS}/servicecidrs/kubernetes"
    while "finalizers" not in (found := collected_place.face.ask("GET", path).body)["metadata"]:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    assert found["metadata"]["finalizers"] == ["networking.k8s.io/service-cidr-finalizer"]
    assert found["spec"]["cidrs"][0].startswith("10.96.0.0/")
    (condition,) = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Ready", "True")
    assert "Service CIDR is ready" in condition["message"]


@pytest.mark.parametrize("spec", [{}, {"clusterIP": "None"}])
def test_a_services_address_is_an_object(place: Place, spec: dict[str, Any]) -> None:
    """From its creation until it is deleted; a headless Service has none."""
    body = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}], **spec}}
    made = place.ask("POST", "services", body=body)
    assert made.status == 201, made.text
    owner = f"services/{place.namespace}/web"
    _wait_for(place, owner, present=not spec)
    if not spec:
        address = place.face.ask("GET", f"{NETWORKS}/ipaddresses/{made.body['spec']['clusterIP']}")
        assert address.body["metadata"]["labels"] == {
            "ipaddress.kubernetes.io/ip-family": "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }
    assert place.ask("DELETE", "services", "web").status == 200
    _wait_for(place, owner, present=False)


def _wait_for(place: Place, owner: str, *, present: bool) -> None:
    """Wait until an IPAddress says whose it is, or none does."""
    end = time.monotonic() + HANGS_SECONDS
    while (owner in _owners(place)) != present:
        assert time.monotonic() < end, f"{owner} in {_owners(place)}: not {present}"
        time.sleep(0.05)


def _owners(place: Place) -> set[str]:
    parents = (
        item["spec"]["parentRef"] for item in _items(place, f"{NETWORKS}/ipaddresses").values()
    )
    return {f"{one['resource']}/{one['namespace']}/{one['name']}" for one in parents}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("clusterroles", ("admin", "edit", "view", "cluster-admin", "system:node", "system:kube-dns",
                          "system:controller:job-controller", "system:node-proxier", "system:heapster",
                          "system:certificates.k8s.io:kubelet-serving-approver")),
        ("clusterrolebindings", ("cluster-admin", "system:node", "system:controller:job-controller",
                                 "system:node-proxier", "system:kube-dns")),
        ("namespaces/kube-system/roles", ("extension-apiserver-authentication-reader",
                                          "system::leader-locking-kube-scheduler",
                                          "system:controller:token-cleaner")),
        ("namespaces/kube-system/rolebindings", ("system::extension-apiserver-authentication-reader",
                                                 "system::leader-locking-kube-scheduler",
                                                 "system:controller:cloud-provider")),
        ("namespaces/kube-public/rolebindings", ("system:controller:bootstrap-signer",)),
    ],
)  # fmt: skip
def test_the_default_roles_are_there(place: Place, path: str, names: tuple[str, ...]) -> None:
    """Marked as the server's own, which keeps them up to date."""
    found = _items(place, f"{RBAC}/{path}")
    for name in names:
        head = found[name]["metadata"]
        assert head["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"
        assert head["annotations"] == {"rbac.authorization.kubernetes.io/autoupdate": "true"}


def test_who_has_the_default_roles(place: Place) -> None:
    """A controller's account its own role, kube-proxy its user's, and nobody that of nodes."""
    found = _items(place, f"{RBAC}/clusterrolebindings")
    assert "subjects" not in found["system:node"]
    assert found["system:controller:job-controller"]["subjects"] == [
        {"kind": "ServiceAccount", "name": "job-controller", "namespace": "kube-system"}
    ]
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:kube-proxy"}
    assert found["system:node-proxier"]["subjects"] == [user]


def test_a_namespace_has_its_first_objects(collected_place: Place) -> None:
    """The account `default` and the ConfigMap by which programs in pods know the server."""
    end = time.monotonic() + HANGS_SECONDS
    for kind, name in (("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")):
        while collected_place.ask("GET", kind, name).status != 200:
            assert time.monotonic() < end, f"no {kind} {name}"
            time.sleep(0.05)
