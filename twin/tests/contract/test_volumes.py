"""Volumes and claims: how they find each other, what protects them, and what becomes of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import MERGE, Answer, Place, pod

Object = dict[str, Any]
VOLUMES, CLASSES = "/api/v1/persistentvolumes", "/apis/storage.k8s.io/v1/storageclasses"
CLAIMS = "persistentvolumeclaims"


def until(condition: Callable[[], Any]) -> Any:
    """Ask until something holds, and return it; the embedded cluster's time passes meanwhile."""
    deadline = time.monotonic() + HANGS_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found


class Shelf:
    """Volumes, classes and claims of one test; what is not in a namespace has its name in front."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.paths: list[str] = []

    def named(self, name: str) -> str:
        """Return the cluster-wide name of a volume or a class."""
        return f"{self.place.namespace}-{name}"

    def send(self, method: str, path: str, body: Object | None = None) -> Answer:
        """Ask for something that is in no namespace."""
        return self.place.face.ask(
            method, path, body=body, content_type=MERGE if method == "PATCH" else "application/json"
        )

    def add(self, path: str, name: str, whole: Object, **metadata: Any) -> Object:
        """Create something that is in no namespace."""
        made = self.send(
            "POST", path, {"metadata": {"name": self.named(name), **metadata}, **whole}
        )
        assert made.status == 201, made.text
        self.paths.append(f"{path}/{self.named(name)}")
        return dict(made.body)

    def volume(
        self, name: str, size: str = "1Gi", labels: dict[str, str] | None = None, **spec: Any
    ) -> Object:
        """Create a volume of the test's own class."""
        source = {"hostPath": {"path": "/data"}} if "nfs" not in spec else {}
        usual = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.named("c"),
        }
        return self.add(VOLUMES, name, {"spec": {**usual, **source, **spec}}, labels=labels or {})

    def claim(self, name: str, size: str = "1Gi", **spec: Any) -> Object:
        """Create a claim of the test's own class."""
        usual = {"accessModes": ["ReadWriteOnce"], "storageClassName": self.named("c")}
        amounts = {"resources": {"requests": {"storage": size}}}
        return self.place.make(
            CLAIMS, {"metadata": {"name": name}, "spec": {**usual, **amounts, **spec}}
        )

    def see(self, name: str) -> Object:
        """Return a claim as it is now."""
        return dict(self.place.ask("GET", CLAIMS, name).body)

    def see_volume(self, name: str) -> Object:
        """Return a volume as it is now."""
        return dict(self.send("GET", f"{VOLUMES}/{self.named(name)}").body)

    def bound(self, name: str) -> Object:
        """Return a claim once it is bound."""
        return dict(until(lambda: (c := self.see(name))["status"]["phase"] == "Bound" and c))

    def phase(self, name: str, phase: str) -> Object:
        """Return a volume once it is in a phase."""
        return dict(until(lambda: (v := self.see_volume(name))["status"]["phase"] == phase and v))

    def said(self, name: str, reason: str) -> Object:
        """Return a KubeEvent about a claim."""
        query = {"fieldSelector": f"involvedObject.name={name},reason={reason}"}
        found = until(lambda: self.place.ask("GET", "events", query=query).body["items"])
        return dict(found[0])

    def clear(self) -> None:
        """Remove what is in no namespace."""
        for path in self.paths:
            if self.send("PATCH", path, {"metadata": {"finalizers": None}}).status == 200:
                self.send("DELETE", path)


@pytest.fixture
def table(place: Place) -> Iterator[Shelf]:
    """Return an empty table."""
    made = Shelf(place)
    yield made
    made.clear()


@pytest.fixture
def kept_table(collected_place: Place) -> Iterator[Shelf]:
    """Return an empty table where the controllers of volumes are at work."""
    made = Shelf(collected_place)
    yield made
    made.clear()


def test_new_claims_and_volumes_are_protected(table: Shelf) -> None:
    """Each gets its finalizer beside those it has, and is Pending, a volume since when."""
    volume, claim = table.volume("v"), table.claim("a")
    assert volume["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert claim["status"] == {"phase": "Pending"}
    since = volume["metadata"]["creationTimestamp"]
    assert volume["status"] == {"phase": "Pending", "lastPhaseTransitionTime": since}


def test_a_claim_without_a_class_gets_the_default_one(table: Shelf) -> None:
    """Only where one is marked; the empty class is a class."""
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    without = table.place.make(CLAIMS, {"metadata": {"name": "early"}, "spec": body})
    assert "storageClassName" not in without["spec"]
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    table.add(CLASSES, "d", {"provisioner": "example.com/none"}, annotations=marked)
    made = until(
        lambda: (
            (
                one := table.place.ask(
                    "POST",
                    CLAIMS,
                    body={"metadata": {"name": "late"}, "spec": body},
                    query={"dryRun": "All"},
                ).body
            )["spec"].get("storageClassName")
            and one
        )
    )
    assert made["spec"]["storageClassName"] == table.named("d")
    empty = table.place.make(
        CLAIMS, {"metadata": {"name": "e"}, "spec": {**body, "storageClassName": ""}}
    )
    assert empty["spec"]["storageClassName"] == ""


def test_a_claim_gets_the_smallest_volume_that_fits(kept_table: Shelf) -> None:
    """Of its class, with its access modes and labels; both sides then say so."""
    kept_table.volume("small", "1Gi")
    kept_table.volume("other-class", "2Gi", storageClassName="")
    kept_table.volume("shared", "2Gi", accessModes=["ReadOnlyMany"])
    kept_table.volume("unlabelled", "2Gi")
    kept_table.volume("large", "9Gi", {"tier": "x"})
    kept_table.volume("right", "3Gi", {"tier": "x"})
    for name in ("small", "unlabelled", "large", "right"):
        kept_table.phase(name, "Available")
    made = kept_table.claim("a", "2Gi", selector={"matchLabels": {"tier": "x"}})
    claim, volume = kept_table.bound("a"), kept_table.phase("right", "Bound")
    assert claim["spec"]["volumeName"] == kept_table.named("right")
    assert claim["status"] == {
        "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "3Gi"}}  # fmt: skip
    assert claim["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}  # fmt: skip
    reference = volume["spec"]["claimRef"]
    assert (reference["kind"], reference["name"]) == ("PersistentVolumeClaim", "a")
    assert reference["uid"] == made["metadata"]["uid"]
    assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert kept_table.see_volume("small")["status"]["phase"] == "Available"


def test_volumes_and_claims_that_name_each_other(kept_table: Shelf) -> None:
    """A volume waits for the claim that it names; a claim for its volume, if that is for it."""
    kept_table.volume("kept", claimRef={"namespace": kept_table.place.namespace, "name": "b"})
    kept_table.phase("kept", "Available")
    kept_table.claim("a")
    kept_table.claim("thief", volumeName=kept_table.named("kept"))
    said = kept_table.said("thief", "FailedBinding")
    text = f'volume "{kept_table.named("kept")}" already bound to a different claim.'
    assert (said["type"], said["message"]) == ("Warning", text)
    kept_table.claim("b")
    assert kept_table.bound("b")["spec"]["volumeName"] == kept_table.named("kept")
    assert kept_table.see("a")["status"] == {"phase": "Pending"}
    kept_table.place.ask("DELETE", CLAIMS, "a")  # it fits the next volume, too
    until(lambda: kept_table.place.ask("GET", CLAIMS, "a").status == 404)
    kept_table.volume("wanted", "2Gi", nfs={"server": "s", "path": "/"})
    kept_table.claim("large", "5Gi", volumeName=kept_table.named("wanted"))
    said = kept_table.said("large", "VolumeMismatch")
    text = (
        f'Cannot bind to requested volume "{kept_table.named("wanted")}": requested PV is too small'
    )
    assert (said["type"], said["message"]) == ("Warning", text)


@pytest.mark.parametrize(
    ("provisioner", "mode", "reason", "words"),
    [
        (None, "Immediate", "ProvisioningFailed", 'storageclass.storage.k8s.io "{}" not found'),
        ("kubernetes.io/no-provisioner", "Immediate", "ProvisioningFailed",
         "no volume plugin matched name: kubernetes.io/no-provisioner"),
        ("example.com/x", "Immediate", "ExternalProvisioning", "external provisioner 'example.com/x' or"),
        ("example.com/x", "WaitForFirstConsumer", "WaitForFirstConsumer",
         "waiting for first consumer to be created before binding"),
    ],
)  # fmt: skip
def test_a_claim_says_why_it_waits(
    kept_table: Shelf, provisioner: str | None, mode: str, reason: str, words: str
) -> None:
    """In the controller's words; it names who is to make its volume where somebody is to."""
    if provisioner:
        kept_table.add(CLASSES, "c", {"provisioner": provisioner, "volumeBindingMode": mode})
    kept_table.claim("a")
    assert words.format(kept_table.named("c")) in kept_table.said("a", reason)["message"]
    claim = kept_table.see("a")
    assert claim["status"] == {"phase": "Pending"}
    asked = claim["metadata"].get("annotations", {}).get("volume.kubernetes.io/storage-provisioner")
    assert asked == ("example.com/x" if reason == "ExternalProvisioning" else None)


def test_what_becomes_of_a_volume_whose_claim_is_gone(kept_table: Shelf) -> None:
    """Retain keeps it, Released; Delete removes it, or says why it cannot."""
    deleted = {"persistentVolumeReclaimPolicy": "Delete"}
    kept_table.volume("kept", "1Gi")
    kept_table.volume("stuck", "2Gi", **deleted)
    kept_table.volume("gone", "3Gi", nfs={"server": "s", "path": "/"}, **deleted)
    for name, size in (("kept", "1Gi"), ("stuck", "2Gi"), ("gone", "3Gi")):
        kept_table.phase(name, "Available")
        kept_table.claim(name, size)
        kept_table.bound(name)
    for name in ("kept", "stuck", "gone"):
        assert kept_table.place.ask("DELETE", CLAIMS, name).status == 200
        until(lambda name=name: kept_table.place.ask("GET", CLAIMS, name).status == 404)
    released = kept_table.phase("kept", "Released")
    assert released["spec"]["claimRef"]["name"] == "kept"
    words = kept_table.phase("stuck", "Failed")["status"]["message"]
    assert words == "host_path deleter only supports /tmp/.+ but received provided /data"
    words = kept_table.phase("gone", "Failed")["status"]["message"]
    assert words.endswith("no deletable volume plugin matched")


def test_a_bound_volume_outlives_its_deletion_until_its_claim_goes(kept_table: Shelf) -> None:
    """And a claim whose volume is torn away is Lost."""
    kept_table.volume("v")
    kept_table.phase("v", "Available")
    kept_table.claim("a")
    kept_table.bound("a")
    path = f"{VOLUMES}/{kept_table.named('v')}"
    assert kept_table.send("DELETE", path).body["metadata"]["deletionTimestamp"]
    time.sleep(0.5)
    assert kept_table.see_volume("v")["status"]["phase"] == "Bound"
    assert kept_table.send("PATCH", path, {"metadata": {"finalizers": None}}).status == 200
    until(lambda: kept_table.see("a")["status"]["phase"] == "Lost")
    said = kept_table.said("a", "ClaimLost")
    assert (
        said["message"] == "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    )


def test_a_claim_in_use_outlives_its_deletion_until_its_pod_goes(kept_table: Shelf) -> None:
    """A pod that has a node uses it; one that waits does not."""
    kept_table.volume("v")
    kept_table.phase("v", "Available")
    kept_table.claim("a")
    kept_table.bound("a")
    nodes = kept_table.send("GET", "/api/v1/nodes").body["items"]
    node = nodes[0]["metadata"]["name"] if nodes else "nowhere"
    mounted = [{"name": "v", "persistentVolumeClaim": {"claimName": "a"}}]
    kept_table.place.make("pods", pod("p", nodeName=node, volumes=mounted))
    marked = kept_table.place.ask("DELETE", CLAIMS, "a").body
    assert marked["metadata"]["deletionTimestamp"]
    time.sleep(0.5)
    assert kept_table.see("a")["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    kept_table.place.ask("DELETE", "pods", "p", query={"gracePeriodSeconds": "0"})
    until(lambda: kept_table.place.ask("GET", CLAIMS, "a").status == 404)
    assert kept_table.phase("v", "Released")


def test_a_claim_without_a_class_follows_a_default_class_that_comes_later(
    kept_table: Shelf,
) -> None:
    """Once it is marked; the claim had no volume of its own."""
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Pi"}}}
    kept_table.place.make(CLAIMS, {"metadata": {"name": "a"}, "spec": body})
    assert kept_table.said("a", "FailedBinding")["type"] == "Normal"
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    kept_table.add(CLASSES, "d", {"provisioner": "example.com/none"}, annotations=marked)
    until(lambda: kept_table.see("a")["spec"].get("storageClassName") == kept_table.named("d"))
