"""Defects in what programs of others need of the twin."""

from __future__ import annotations

from proofs.planted.defect import Defect

_CONTRACT = "twin/tests/contract/test_other_programs.py::"
_FLOWS = "twin/tests/controller_flows/test_flows.py::test_the_built_in_controllers_leave_the_same"
TWIN_PROGRAMS = (
    Defect(
        "a required number of zero gets lost in protobuf",
        "twin/api/schema/wire.py",
        "return field.pointer or field.required or field.message is not None",
        "return field.pointer or field.message is not None",
        f"{_CONTRACT}test_a_status_in_protobuf_keeps_its_zeros[in process]",
    ),
    Defect(
        "a node's providerID is forgotten",
        "twin/intake.py",
        '        said["providerID"] = str(spec["providerID"])',
        '        said["provider"] = str(spec["providerID"])',
        f"{_CONTRACT}test_what_a_node_says_of_itself_is_kept[in process]",
    ),
    Defect(
        "a Job that passes a changing webhook keeps a selector of no uid",
        "twin/admission/jobs.py",
        "    if not uid:\n        return\n",
        '    uid = uid or ""\n',
        "twin/tests/contract/test_webhooks.py::test_a_job_selects_its_pods_after_webhooks[in process]",
    ),
    Defect(
        "a Job's pods are counted at every look",
        "twin/controllers/job_counting.py",
        "        fresh, index = TRACKING in pod.finalizers, index_of(pod)\n",
        "        fresh, index = True, index_of(pod)\n",
        f"{_FLOWS}[job: completes]",
    ),
    Defect(
        "a surge knows no bounds",
        "twin/controllers/daemon_rollout.py",
        "    step.create += candidates[: max(0, limits.surge - extra)]\n",
        "    step.create += candidates\n",
        f"{_FLOWS}[daemonset: new ones first, and they are not ready]",
    ),
    Defect(
        "a deleted pod that is held runs on",
        "twin/behaviour/kubelet.py",
        "            if pod.node_name and not pod.terminal:\n                self._fail(",
        "            if pod.node_name and pod.terminal:\n                self._fail(",
        f"{_FLOWS}[job: replacement waits for failure]",
    ),
    Defect(
        "a budget over pods of a Job counts as if nobody owned them",
        "twin/controllers/budget_scale.py",
        "    if resource not in _SCALED and paths is None:\n",
        "    if paths is None and not resource:\n",
        f"{_FLOWS}[disruption: pods of a Job]",
    ),
    Defect(
        "pods that give a named port another number share a slice",
        "twin/controllers/endpoints.py",
        "            key = key_of_ports(own)\n",
        "            key = ()\n",
        f"{_FLOWS}[endpoints: pods that name a port otherwise]",
    ),
    Defect(
        "a published pod that is not ready is said to serve",
        "twin/controllers/endpoint_rows.py",
        '            "serving": pod.ready,\n',
        '            "serving": publish or pod.ready,\n',
        f"{_FLOWS}[endpoints: pods that are not ready, published]",
    ),
    Defect(
        "an object with two owners goes with the first of them",
        "twin/controllers/garbage.py",
        "        if solid:\n",
        "        if len(solid) > 1:\n",
        f"{_FLOWS}[garbage: one of two owners goes]",
    ),
    Defect(
        "a namespace loses everything at once, while its pods still run",
        "twin/controllers/namespaces.py",
        "        if not only_pods:\n",
        "        if home:\n",
        f"{_FLOWS}[namespaces: with pods that take their time]",
    ),
    Defect(
        "Endpoints of a Service with a selector are mirrored beside its own slices",
        "twin/controllers/mirroring.py",
        "    if service is None or _has_selector(service):\n",
        "    if service is None:\n",
        f"{_FLOWS}[mirroring: the Service gets a selector]",
    ),
    Defect(
        "a range goes while a Service has an address of it",
        "twin/controllers/service_ranges.py",
        "        elif self._is_needed(record):\n",
        "        elif False:\n",
        f"{_FLOWS}[ranges: a range that a Service uses]",
    ),
    Defect(
        "a balancer that does without ports of the nodes is charged for them",
        "twin/admission/quotas.py",
        '    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:\n',
        '    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:\n',
        f"{_FLOWS}[quotas: Services by type]",
    ),
    Defect(
        "two autoscalers scale the same pods",
        "twin/controllers/autoscaler.py",
        "        if len(rivals) < 2:\n",
        "        if len(rivals) < 3:\n",
        f"{_FLOWS}[autoscaling: two for one target]",
    ),
    Defect(
        "a Job that nobody keeps is told of as completed before it goes",
        "twin/controllers/cron_job.py",
        "        self._clean(record, status, jobs)  # one that nobody keeps is not told of\n"
        "        self._follow_jobs(record, status, jobs)\n",
        "        self._follow_jobs(record, status, jobs)\n        self._clean(record, status, jobs)\n",
        f"{_FLOWS}[cronjob: keeps none that completed]",
    ),
    Defect(
        "a pod for one node is told that the others do not match its affinity",
        "twin/scheduling/placement_rules.py",
        "        if names is None or node.name in names:\n",
        "        if terms:\n",
        f"{_FLOWS}[scheduling: a node by its name that is too small]",
    ),
)
