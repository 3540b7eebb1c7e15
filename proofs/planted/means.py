"""Defects in the means that actions have: resizes, quotas, machines handed back, and what is asked beforehand."""

from __future__ import annotations

from proofs.planted.defect import Defect

MEANS = (
    Defect(
        "an installation's passwords are made anew each time",
        "services/login_secrets.py",
        "return {**texts, **kept}",
        "return {**kept, **texts}",
        "tests/install/test_login_secrets.py::test_each_identity_gets_a_login_once",
    ),
    Defect(
        "a pod sees everybody's login",
        "deploy/manifests/pieces.py",
        '"defaultMode": 0o440, "items": [item]}',
        '"defaultMode": 0o440, "optional": bool(item)}',
        "tests/install/test_manifests.py::test_committed_files_are_up_to_date",
    ),
    Defect(
        "rights to write nodes are granted although nobody named any",
        "services/executor/rights.py",
        "if settings.writable_nodes or resource not in cluster",
        "if kinds",
        "tests/install/test_rights.py::test_rights_follow_the_kinds_of_action",
    ),
    Defect(
        "a right that is missing in one of the named namespaces is not noticed",
        "services/rights.py",
        "asked.extend((right, namespace) for namespace in where)",
        "asked.extend((right, namespace) for namespace in where[:1])",
        "tests/install/test_rights.py::test_a_right_is_asked_for_in_each_namespace",
    ),
    Defect(
        "a pod is given less than it used lately",
        "services/executor/resizing.py",
        "        math.ceil(round(container.peak_cores * (1.0 + margin) * 1000, 6)),\n",
        "",
        "tests/executor/test_resize.py::test_nothing_falls_below_the_peak_and_a_margin",
    ),
    Defect(
        "one way that is closed closes a kind with two",
        "services/executor/means.py",
        "if lacking and all(lacking)",
        "if any(lacking)",
        "tests/executor/test_means.py::test_what_is_not_served_cannot_be_done",
    ),
    Defect(
        "agents propose what cannot be done",
        "services/agents/feasibility.py",
        "    if lacking is None:\n        return judgement\n",
        "    return judgement\n",
        "tests/agents/test_feasibility.py::test_a_baseline_agent_wants_nothing_that_cannot_be_done",
    ),
    Defect(
        "a machine is ended although a pod has arrived",
        "services/executor/writing.py",
        "        if not left:\n            return None\n",
        "        return None\n",
        "tests/executor/test_hand_back.py::test_a_pod_that_arrives_in_between_keeps_the_machine",
    ),
    Defect(
        "a quota is deleted although somebody has changed it",
        "services/executor/verification.py",
        "        return _is_ours(current, json.loads(operation.patch))\n",
        "        return True\n",
        "tests/executor/test_resource_cap.py::test_a_quota_that_somebody_changed_is_theirs",
    ),
    Defect(
        "a StatefulSet that lacks replicas gives up another pod",
        "services/executor/plans/migrate.py",
        "    if owner.ready < owner.replicas:\n",
        "    if owner.ready < 0:\n",
        "tests/executor/test_moving_sets.py::test_a_stateful_set_gives_up_one_pod_and_then_the_next",
    ),
    Defect(
        "a pod is evicted that no other node may run",
        "services/executor/plans/migrate.py",
        "    if pod.confined:\n",
        "    if False:\n",
        "tests/executor/test_moving_sets.py::test_a_pod_moves_only_where_another_node_has_what_it_asks_for",
    ),
)
