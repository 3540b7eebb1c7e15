"""Defects in what the embedded cluster does with the objects that pods refer to."""

from __future__ import annotations

from proofs.planted.defect import Defect

REFERENCES = "twin/tests/behaviour/test_references.py::"
POLICIES = "twin/tests/contract/test_policies.py::"
FLOWS = "twin/tests/contract/test_flows.py::test_answers_are_those_of_a_real_server"

TWIN_OBJECTS: tuple[Defect, ...] = (
    Defect(
        "a Job takes its pods with it unasked",
        "twin/api/deleting.py",
        '_ORPHANING = frozenset({"jobs", "replicationcontrollers"})',
        '_ORPHANING = frozenset({"replicationcontrollers"})',
        f"{FLOWS}[in process-what is left behind unasked]",
    ),
    Defect(
        "who creates an object owns what it cannot be without",
        "twin/api/schema/model.py",
        '        return self.shape == "" and not self.pointer and self.message is not None',
        "        return False",
        f"{FLOWS}[in process-life of services]",
    ),
    Defect(
        "a port in use is given out again",
        "twin/controllers/service_addresses.py",
        "taken = {**self._taken_ports((namespace, name)), **dict.fromkeys(own)}",
        "taken = dict.fromkeys(own)",
        f"{FLOWS}[in process-ports of balancers]",
    ),
    Defect(
        "ports that are there twice go unmentioned",
        "twin/advice/pods.py",
        '        return "duplicate"\n',
        '        return ""\n',
        "twin/tests/advice/test_advice.py::test_ports_in_each_others_way",
    ),
    Defect(
        "an apply that changes nothing leaves a time",
        "twin/api/ownership.py",
        "    if not (difference.changed or difference.removed):",
        "    if not (difference.changed or difference.removed or mine.at):",
        "twin/tests/contract/test_flows.py::test_who_applies_what_is_there_already_leaves_no_time[in process]",
    ),
    Defect(
        "a claim in use goes at once",
        "twin/controllers/volumes.py",
        "        if leaves and not any(self._uses(pod, claim) for pod in self._pods_with(claim)):\n",
        "        if leaves:\n",
        "twin/tests/contract/test_volumes.py::"
        "test_a_claim_in_use_outlives_its_deletion_until_its_pod_goes[in process]",
    ),
    Defect(
        "what is optional is waited for",
        "twin/behaviour/references.py",
        '    if source.get("optional"):\n',
        '    if source.get("optional") == "always":\n',
        f"{REFERENCES}test_what_is_optional_is_not_waited_for",
    ),
    Defect(
        "a container starts again without its variables",
        "twin/behaviour/kubelet.py",
        "        if self.mounts.config_problem(pod):\n",
        "        if pod.ended is None and self.mounts.config_problem(pod):\n",
        f"{REFERENCES}test_a_container_that_starts_again_needs_its_variables_again",
    ),
    Defect(
        "readiness gates are left open",
        "twin/behaviour/readiness.py",
        "    ready = answers and not closed_gates(pod)\n",
        "    ready = answers\n",
        "twin/tests/behaviour/test_readiness_gates.py::test_a_pod_is_ready_when_its_gates_are_open",
    ),
    Defect(
        "a policy that ignores failures is followed by none",
        "twin/policies/deciding.py",
        '            return None if self._ignores else (why, "")\n',
        '            return (why, "")\n',
        f"{POLICIES}test_a_policy_that_ignores_its_failures[in process]",
    ),
    Defect(
        "excluded rules of a policy are looked at, too",
        "twin/policies/requests.py",
        "    if excluded and version_for(",
        "    if not excluded and version_for(",
        f"{POLICIES}test_excluded_rules_and_selectors[in process]",
    ),
)
