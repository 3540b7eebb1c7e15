"""Plays one case of the table over a port, and compares what is seen with what it says."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.kueue.ports import NODES, Port, Refused
from twin.tests.kueue.words import agrees, resource_groups, same_quantity, value_at, with_nulls
from twin.timestamps import rfc3339

Object = dict[str, Any]
KUEUE = "/apis/kueue.x-k8s.io/{version}"
VISIBLE = "/apis/visibility.kueue.x-k8s.io/{version}"
CLUSTER_WIDE = {
    "clusterqueue": "clusterqueues",
    "cohort": "cohorts",
    "resourceflavor": "resourceflavors",
    "workloadpriorityclass": "workloadpriorityclasses",
    "admissioncheck": "admissionchecks",
}
NAMESPACED = {"localqueue": "localqueues", "workload": "workloads"}
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "LimitRange": "/api/v1/namespaces/default/limitranges",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
}
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
CLASS_LABEL = "kueue.x-k8s.io/priority-class"
LONGEST_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
LEAST = "kueue.x-k8s.io/job-min-parallelism"
SETTLE_SECONDS = 2.0


class Play:
    """One run of one case."""

    def __init__(self, case: Object, port: Port) -> None:
        self.port = port
        for name in NODES:
            taints = case.get("nodes", {}).get(name, {}).get("taints")
            if taints:
                port.ask("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": taints}})
        for number, step in enumerate(case["steps"]):
            ((word, said),) = step.items()
            try:
                getattr(self, f"do_{word}")(said)
            except AssertionError as error:
                raise AssertionError(f"{case['case']}: step {number} ({word}): {error}") from error
            if word not in ("wait", "expect"):
                port.run(SETTLE_SECONDS)

    # ---- objects

    def make(self, kind: str, plural: str, name: str, body: Object, namespace: str = "") -> None:
        """Create an object of Kueue."""
        head = {"name": name, **({"namespace": namespace} if namespace else {})}
        obj = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": head, **body}
        base = KUEUE.format(version="v1beta2") + (f"/namespaces/{namespace}" if namespace else "")
        self.port.ask("POST", f"{base}/{plural}", obj)

    def do_flavor(self, said: Object) -> None:
        """Create a ResourceFlavor."""
        spec = {key: value for key, value in said.items() if key != "name"}
        self.make("ResourceFlavor", "resourceflavors", said["name"], {"spec": spec})

    def do_queue(self, said: Object) -> None:
        """Create a ClusterQueue and, unless it is said otherwise, a LocalQueue of its name."""
        spec = {
            k: v
            for k, v in said.items()
            if k not in ("name", "quotas", "groups", "local", "checks")
        }
        spec.setdefault("namespaceSelector", {})
        if spec["namespaceSelector"] == "none":
            del spec["namespaceSelector"]
        spec["resourceGroups"] = resource_groups(said)
        if "checks" in said:
            rows = [{"name": name} for name in said["checks"]]
            spec["admissionChecksStrategy"] = {"admissionChecks": rows}
        self.make("ClusterQueue", "clusterqueues", said["name"], {"spec": spec})
        if said.get("local", True):
            self.do_local({"name": said["name"], "clusterQueue": said["name"]})

    def do_cohort(self, said: Object) -> None:
        """Create a Cohort."""
        spec = {k: v for k, v in said.items() if k not in ("name", "quotas")}
        if "quotas" in said:
            spec["resourceGroups"] = resource_groups(said)
        self.make("Cohort", "cohorts", said["name"], {"spec": spec})

    def do_local(self, said: Object) -> None:
        """Create a LocalQueue."""
        spec = {"clusterQueue": said["clusterQueue"]}
        place = said.get("namespace", "default")
        self.make("LocalQueue", "localqueues", said["name"], {"spec": spec}, place)

    def do_class(self, said: Object) -> None:
        """Create a WorkloadPriorityClass."""
        body = {"value": said["value"]}
        self.make("WorkloadPriorityClass", "workloadpriorityclasses", said["name"], body)

    def do_check(self, said: Object) -> None:
        """Create an AdmissionCheck, and call it active in its controller's name."""
        name = said["name"]
        spec = {"controllerName": "test.example.com/checker"}
        self.make("AdmissionCheck", "admissionchecks", name, {"spec": spec})
        if said.get("active", True):
            rows = [{"type": "Active", "status": "True", "reason": "Active", "message": "ready",
                     "lastTransitionTime": "2026-01-01T00:00:00Z"}]  # fmt: skip
            path = f"{KUEUE.format(version='v1beta2')}/admissionchecks/{name}/status"
            self.port.ask("PATCH", path, {"status": {"conditions": rows}})

    def do_object(self, said: Object) -> None:
        """Create anything else."""
        if said["apiVersion"].startswith("kueue.x-k8s.io/"):
            version = said["apiVersion"].partition("/")[2]
            path = f"{KUEUE.format(version=version)}/{CLUSTER_WIDE[said['kind'].lower()]}"
            self.port.ask("POST", path, said)
            if said["kind"] == "ClusterQueue":
                name = said["metadata"]["name"]
                self.do_local({"name": name, "clusterQueue": name})
        else:
            self.port.ask("POST", PATHS[said["kind"]], said)

    def do_job(self, said: Object) -> None:
        """Create a Job."""
        place = said.get("namespace", "default")
        labels = {
            label: str(said[field])
            for field, label in (
                ("queue", QUEUE_LABEL),
                ("class", CLASS_LABEL),
                ("maxExecutionSeconds", LONGEST_LABEL),
            )
            if field in said
        }
        notes = {LEAST: str(said["minParallelism"])} if "minParallelism" in said else {}
        requests = {name: str(said[name]) for name in ("cpu", "memory") if name in said}
        resources = {"requests": requests} if requests else {}
        if "limits" in said:
            resources["limits"] = said["limits"]
        container = {"name": "c", "image": "work:1", "resources": resources}
        inner: Object = {"containers": [container], "restartPolicy": "Never"}
        inner |= {k: said[k] for k in ("nodeSelector", "tolerations", "affinity") if k in said}
        if "podClass" in said:
            inner["priorityClassName"] = said["podClass"]
        work = {"foresail.dev/work-seconds": str(said.get("seconds", 3600))}
        spec: Object = {
            "parallelism": said["pods"],
            "completions": said.get("completions", said["pods"]),
            "template": {"metadata": {"annotations": work}, "spec": inner},
            **{k: said[k] for k in ("suspend", "activeDeadlineSeconds") if k in said},
        }
        head = {"name": said["name"], "labels": labels, "annotations": notes}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": head, "spec": spec}
        self.port.ask("POST", f"/apis/batch/v1/namespaces/{place}/jobs", job)

    def do_workload(self, said: Object) -> None:
        """Create a Workload that belongs to nobody."""
        resources = {"requests": {k: str(v) for k, v in said["requests"].items()}}
        container = {"name": "c", "image": "work:1", "resources": resources}
        template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
        pod_set = {"name": "main", "count": said["pods"], "template": template}
        spec: Object = {"queueName": said["queue"], "podSets": [pod_set]}
        if "active" in said:
            spec["active"] = said["active"]
        self.make("Workload", "workloads", said["name"], {"spec": spec}, "default")

    # ---- actions

    def do_wait(self, seconds: float) -> None:
        """Let time pass."""
        self.port.run(seconds)

    def do_patch(self, said: Object) -> None:
        """Merge something into objects."""
        for what, patch in said.items():
            self.port.ask("PATCH", self.path(what), with_nulls(patch))

    def do_status(self, said: Object) -> None:
        """Merge something into the status of objects."""
        for what, patch in said.items():
            self.port.ask("PATCH", f"{self.path(what)}/status", {"status": patch})

    def do_delete(self, what: str) -> None:
        """Delete an object as kubectl does: without a policy a Job would leave behind what it owns."""
        policy = {"propagationPolicy": "Background"} if what.startswith("job ") else {}
        self.port.ask("DELETE", self.path(what), **policy)

    def do_state(self, said: Object) -> None:
        """Let a check's controller answer."""
        path = self.path(f"workload {said['workload']}")
        rows = self.port.ask("GET", path)["status"]["admissionChecks"]
        answer = {k: v for k, v in said.items() if k not in ("workload", "check")}
        for row in rows:
            if row["name"] == said["check"]:
                row.update(message="", lastTransitionTime=rfc3339(self.port.engine.now), **answer)
        self.port.ask("PATCH", f"{path}/status", {"status": {"admissionChecks": rows}})

    def do_refused(self, said: Object) -> None:
        """Do something that is refused."""
        ((word, what),) = ((k, v) for k, v in said.items() if k not in ("status", "says"))
        with pytest.raises(Refused) as found:
            getattr(self, f"do_{word}")(what)
        assert str(found.value.status) in str(said["status"]).split("|"), found.value
        assert said["says"] in found.value.message, found.value

    # ---- looking

    def path(self, what: str, version: str = "v1beta2") -> str:
        """Return the path of an object, a Workload being named by its Job."""
        words = what.split()
        kind, name = words[:2]
        place = words[words.index("in") + 1] if "in" in words else "default"
        if kind in CLUSTER_WIDE:
            return f"{KUEUE.format(version=version)}/{CLUSTER_WIDE[kind]}/{name}"
        if kind == "namespace":
            return f"/api/v1/namespaces/{name}"
        if kind == "job":
            return f"/apis/batch/v1/namespaces/{place}/jobs/{name}"
        if kind == "workload":
            name = self.workload_name(name, place) or name
        return f"{KUEUE.format(version=version)}/namespaces/{place}/{NAMESPACED[kind]}/{name}"

    def workload_name(self, job: str, place: str) -> str:
        """Return the name of a Job's Workload; empty without one."""
        path = f"{KUEUE.format(version='v1beta2')}/namespaces/{place}/workloads"
        for item in self.port.ask("GET", path)["items"]:
            for owner in item["metadata"].get("ownerReferences", ()):
                if owner["name"] == job:
                    return str(item["metadata"]["name"])
        return ""

    def find(self, what: str) -> Object | None:
        """Return an object; None when there is none."""
        before, _, version = what.partition(" as ")
        try:
            found: Object = self.port.ask("GET", self.path(before, version or "v1beta2"))
        except Refused as refusal:
            if refusal.status != 404:
                raise
            return None
        return found

    def do_expect(self, said: Object) -> None:
        """Compare everything that is said."""
        for what, wanted in said.items():
            special = getattr(self, f"see_{what}", None)
            if special is not None:
                special(wanted)
            elif what.startswith("pods "):
                self.see_pods(what.partition(" ")[2], wanted)
            elif what.startswith("pending "):
                self.see_pending(what.partition(" ")[2], wanted)
            else:
                self.see_object(what, wanted)

    def see_object(self, what: str, wanted: Any) -> None:
        """Compare one object."""
        found = self.find(what)
        if wanted == "none":
            assert found is None, f"{what} is there"
            return
        assert found is not None, f"{what} is not there"
        for where, value in wanted.items():
            if where == "event":
                assert value in self.reasons(found), (what, self.reasons(found))
                continue
            seen = value_at(found, where)
            assert agrees(seen, value, where), f"{what}: {where}: {seen!r}, not {value!r}"

    def reasons(self, obj: Object) -> set[str]:
        """Return the reasons of an object's KubeEvents."""
        uid = obj["metadata"]["uid"]
        items = self.port.ask("GET", "/api/v1/events")["items"]
        return {item["reason"] for item in items if item["involvedObject"].get("uid") == uid}

    def see_admitted(self, jobs: list[str]) -> None:
        """Workloads that hold quota, whose Jobs run."""
        for job in jobs:
            workload, owner = self.find(f"workload {job}"), self.find(f"job {job}")
            assert workload is not None, f"{job} has no Workload"
            seen = [value_at(workload, kind) for kind in ("QuotaReserved", "Admitted", "Evicted")]
            assert [s.split()[0] for s in seen[:2]] == ["True", "True"], (job, workload["status"])
            assert seen[2].split()[0] != "True", (job, seen)
            assert owner is None or not owner["spec"].get("suspend"), f"{job} is suspended"

    def see_waiting(self, jobs: list[str]) -> None:
        """Workloads that hold nothing, whose Jobs are suspended and have no pods."""
        for job in jobs:
            workload, owner = self.find(f"workload {job}"), self.find(f"job {job}")
            assert workload is not None, f"{job} has no Workload"
            assert owner is not None, f"{job} is not there"
            seen = [value_at(workload, kind).split()[0] for kind in ("QuotaReserved", "Admitted")]
            assert "True" not in seen, (job, workload["status"])
            assert owner["spec"].get("suspend") is True, f"{job} is not suspended"
            assert not (owner.get("status") or {}).get("active"), f"{job} has pods"

    def see_flavors(self, wanted: Object) -> None:
        """Flavors of Workloads' first pod sets."""
        for job, flavors in wanted.items():
            found = self.find(f"workload {job}")
            assert found is not None, f"{job} has no Workload"
            seen = value_at(found, "status.admission.podSetAssignments.0.flavors")
            assert seen == flavors, f"{job}: {seen}, not {flavors}"

    def see_usage(self, wanted: Object) -> None:
        """What ClusterQueues have reserved."""
        for name, flavors in wanted.items():
            found = self.find(f"clusterqueue {name}")
            assert found is not None, f"{name} is not there"
            rows = {row["name"]: row for row in found["status"]["flavorsReservation"]}
            for flavor, resources in flavors.items():
                seen = {row["name"]: row for row in rows[flavor]["resources"]}
                for resource, words in resources.items():
                    total, _, borrowed = str(words).partition(" borrowed ")
                    row = seen[resource]
                    assert same_quantity(row["total"], total), (name, flavor, row, words)
                    if borrowed:
                        assert same_quantity(row["borrowed"], borrowed), (name, flavor, row, words)

    def see_pods(self, job: str, wanted: Object) -> None:
        """A Job's pods."""
        path = "/api/v1/namespaces/default/pods"
        items = [
            item
            for item in self.port.ask("GET", path)["items"]
            if any(owner["name"] == job for owner in item["metadata"].get("ownerReferences", ()))
        ]
        if "nodes" in wanted:
            assert sorted(item["spec"].get("nodeName") for item in items) == wanted["nodes"]
        if "priorities" in wanted:
            assert [item["spec"].get("priority", 0) for item in items] == wanted["priorities"]

    def listed(self, where: str) -> list[Object]:
        """Return what the visibility API lists."""
        where, _, version = where.partition(" as ")
        queue, _, query = where.partition("?")
        namespace, _, name = queue.rpartition("/")
        base = VISIBLE.format(version=version or "v1beta2")
        path = (
            f"{base}/namespaces/{namespace}/localqueues" if namespace else f"{base}/clusterqueues"
        )
        options = dict(pair.split("=") for pair in query.split("&") if pair)
        found = self.port.ask("GET", f"{path}/{name}/pendingworkloads", **options)
        assert found["kind"] == "PendingWorkloadsSummary"
        items: list[Object] = found["items"]
        return items

    def see_listed(self, wanted: Object) -> None:
        """Names of the Jobs whose Workloads are pending, in order."""
        for where, jobs in wanted.items():
            seen = [item["metadata"]["ownerReferences"][0]["name"] for item in self.listed(where)]
            assert seen == jobs, f"{where}: {seen}, not {jobs}"

    def see_pending(self, job: str, wanted: Object) -> None:
        """One item of that list."""
        for item in self.listed(str(wanted["localQueueName"])):
            if item["metadata"]["ownerReferences"][0]["name"] == job:
                seen = {key: item.get(key) for key in wanted}
                assert seen == wanted, f"{job}: {seen}, not {wanted}"
                return
        raise AssertionError(f"{job} is not listed")
