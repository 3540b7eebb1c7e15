"""Defects in what is said of pods that wait and of autoscalers that do not scale."""

from __future__ import annotations

from proofs.planted.defect import Defect

_CHANGE = "tests/explanations/test_smallest_change.py::"
_SCALING = "tests/explanations/test_scaling.py::"
_STAYS = "tests/explanations/test_consolidating.py::"
_POD = "tests/explanations/test_pod_waits.py::"
_WORKLOAD = "tests/explanations/test_workload_waits.py::"
_RECORDED = "tests/explanations/test_recorded.py::"
EXPLANATIONS = (
    Defect(
        "a pod is cut by more than would do",
        "lab/explanations/shrinking.py",
        "less(spec, resource, free) if 0 < free < asked",
        "less(spec, resource, free // 2) if 0 < free < asked",
        f"{_CHANGE}test_one_obstacle_is_named_and_made_small",
    ),
    Defect(
        "a skew is raised until something fits",
        "lab/explanations/shrinking.py",
        "    while low < high:",
        "    while False:",
        f"{_CHANGE}test_a_skew_is_raised_as_little_as_will_do",
    ),
    Defect(
        "a node that is not ready is to be tolerated",
        "lab/explanations/obstacles.py",
        'STATE_PREFIX = "node.kubernetes.io/"',
        'STATE_PREFIX = "node.example.com/"',
        f"{_CHANGE}test_one_obstacle_is_named_and_made_small",
    ),
    Defect(
        "what a resized pod still holds is free",
        "lab/explanations/frozen_cluster.py",
        "pod.resize = Resize(allocated, actual)",
        "pod.resize = None",
        f"{_CHANGE}test_a_pod_that_is_resized_counts_with_the_larger_of_its_amounts",
    ),
    Defect(
        "a node with two reasons was tried twice",
        "twin/scheduling/sentences.py",
        "counted[NOT_HELPFUL] += nodes - tried",
        "counted[NOT_HELPFUL] += nodes - reasons.total()",
        f"{_RECORDED}test_every_sentence_is_computed",
    ),
    Defect(
        "amounts are looked at before ports",
        "twin/scheduling/default_preemption.py",
        "and not needs.extra and not needs.host_ports:",
        "and not needs.extra:",
        f"{_RECORDED}test_every_sentence_is_computed",
    ),
    Defect(
        "an autoscaler's own tolerance is not heard",
        "lab/explanations/why_not_scaled.py",
        "return RULES if given is None else",
        "return RULES if True else",
        f"{_SCALING}test_an_autoscaler_may_have_a_tolerance_of_its_own",
    ),
    Defect(
        "one silent metric lets the others take away",
        "lab/explanations/why_not_scaled.py",
        "(best[0] < current and any(one.problem for one in answers))",
        "(best[0] < current and all(one.problem for one in answers))",
        f"{_SCALING}test_where_a_metric_is_silent_nothing_is_taken_away",
    ),
    Defect(
        "failed pods have no metrics",
        "twin/controllers/replica_calculator.py",
        'if pod.deleting or pod.phase == "Failed":',
        "if pod.deleting:",
        f"{_SCALING}test_starting_pods_are_named_and_failed_ones_left_out",
    ),
    Defect(
        "a silent node does not come first",
        "lab/explanations/pod_waits.py",
        "waits = [*_node(pod, around), *_volumes(pod, around)]",
        "waits = [*_volumes(pod, around)]",
        f"{_POD}test_a_node_that_does_not_report_comes_first",
    ),
    Defect(
        "minutes of a back-off are milliseconds",
        "lab/explanations/container_waits.py",
        "return hours * 3600 + minutes * 60 + seconds",
        "return hours * 3600 + seconds",
        f"{_POD}test_delays_in_the_kubelet_s_words",
    ),
    Defect(
        "the ReplicaSet counts as the topmost controller",
        "lab/explanations/waits.py",
        "        while above is not None and above is not found:",
        "        while above is not None and found is None:",
        f"{_POD}test_who_set_the_image_of_its_deployment",
    ),
    Defect(
        "a quota is judged by what it held then",
        "lab/explanations/refused_pods.py",
        'return parse_quantity(used.get(key, "0")) + parse_quantity(amount) <=',
        'return parse_quantity(used.get(key, "0")) <',
        f"{_WORKLOAD}test_a_quota_that_is_full",
    ),
    Defect(
        "a share of pods that may be away is rounded up",
        "lab/explanations/workload_waits.py",
        "return -(-percent * of // 100) if up else percent * of // 100",
        "return -(-percent * of // 100)",
        f"{_WORKLOAD}test_shares_are_rounded_as_the_controller_does",
    ),
    Defect(
        "a success does not end a Job's row of failures",
        "lab/explanations/job_waits.py",
        "in_a_row = [at for at in failures if at > succeeded]",
        "in_a_row = failures",
        f"{_WORKLOAD}test_a_job_waits_after_failures",
    ),
    Defect(
        "pods are told one by one",
        "lab/explanations/why_not_started.py",
        'key = wait.step, _NUMBERS.sub("#", wait.text)',
        "key = wait.step, wait.text",
        f"{_WORKLOAD}test_pods_that_wait_for_the_same_are_told_together",
    ),
    Defect(
        "a budget of the pool does not count nodes that are not ready",
        "lab/explanations/why_not_consolidated.py",
        "going = sum(not _is_settled(nodes, one) for one in own)",
        "going = 0",
        f"{_STAYS}test_nodes_that_go_or_are_not_ready_use_up_a_budget",
    ),
    Defect(
        "pods that move do not take up room",
        "lab/explanations/moving.py",
        'rest.world.store.insert("pods", record_of("pods", _placed(body, target)))',
        "pass",
        f"{_STAYS}test_what_has_no_place_elsewhere",
    ),
    Defect(
        "a protection for a time lasts",
        "lab/explanations/keepers.py",
        "until = None if seconds is None or pod.started_at is None else pod.started_at + seconds",
        "until = None",
        f"{_STAYS}test_a_protection_for_a_time_ends",
    ),
    Defect(
        "old words of Karpenter count",
        "lab/explanations/why_not_consolidated.py",
        "Said(text, seconds, text in known)",
        "Said(text, seconds, True)",
        f"{_STAYS}test_what_karpenter_said_holds_or_does_not",
    ),
)
