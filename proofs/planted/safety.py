"""Defects in what keeps the executor's hands off: names, marks, the control plane, and refused starts."""

from __future__ import annotations

from proofs.planted.defect import Defect

GUARDS = "tests/executor/test_write_guards.py"
EXECUTOR = "tests/safety/test_executor.py"
UP = "tests/safety/test_up.py"
OUTAGES = "tests/executor/test_outage_guards.py"
PARTIAL = "tests/executor/test_partial.py"
PROOF = "tests/safety/test_real_cluster_proof.py"

SAFETY = (
    Defect(
        "namespaces to be written are prefixes again",
        "services/executor/scope.py",
        "(bool(name) and name in self.namespaces)",
        "name.startswith(tuple(self.namespaces))",
        f"{GUARDS}::test_names_are_exact",
    ),
    Defect(
        "without names a real cluster is written everywhere",
        "services/executor/scope.py",
        "names is None and simulated",
        "names is None",
        f"{GUARDS}::test_what_may_be_written_in_each_mode",
    ),
    Defect(
        "any value of the nodes' label will do",
        "services/executor/scope.py",
        "(bool(key) and labels.get(key) == value)",
        "key in labels",
        f"{GUARDS}::test_a_node_needs_the_label",
    ),
    Defect(
        "pods of others on a node to be written are not counted",
        "services/executor/guards/named_nodes.py",
        "if not pod.removed and pod.counts and not",
        "if pod.removed and pod.counts and not",
        f"{GUARDS}::test_a_node_is_written_only_while_its_pods_are_of_named_namespaces",
    ),
    Defect(
        "a kind that is never written passes in the embedded cluster",
        "services/executor/guards/named_namespaces.py",
        "if not known or not (",
        "if not (",
        f"{GUARDS}::test_kinds_that_are_never_written_are_refused_everywhere",
    ),
    Defect(
        "a taint does not show the control plane",
        "services/protection.py",
        "keys = {*labels, *taints}",
        "keys = {*labels}",
        f"{GUARDS}::test_signs_of_the_control_plane",
    ),
    Defect(
        "pods may be evicted from the control plane",
        "services/executor/guards/control_plane.py",
        "if node.control_plane\n",
        "if node.control_plane and node.written\n",
        f"{GUARDS}::test_the_control_plane_stays_as_it_is",
    ),
    Defect(
        "a mark counts only when it is spelt true",
        "services/protection.py",
        "value.strip().lower() != _OFF",
        'value == "true"',
        f"{GUARDS}::test_marks",
    ),
    Defect(
        "marks of a removed pod's node are overlooked",
        "services/executor/guards/do_not_disrupt.py",
        "for node in reach.nodes if node.mark)",
        "for node in reach.nodes if node.mark and node.written)",
        f"{GUARDS}::test_what_is_marked_is_left_alone",
    ),
    Defect(
        "kube-system is protected only while the settings say so",
        "services/executor/guards/system_pods.py",
        "{*question.settings.protected_namespaces, ALWAYS}",
        "{*question.settings.protected_namespaces}",
        f"{GUARDS}::test_kube_system_is_never_touched_even_if_nothing_protects_it",
    ),
    Defect(
        "static pods are removed",
        "services/executor/guards/system_pods.py",
        "if pod.removed and pod.static:",
        "if pod.static and not pod.removed:",
        f"{GUARDS}::test_a_static_pod_is_never_removed",
    ),
    Defect(
        "fewer replicas end no pods",
        "services/executor/reading.py",
        "(operation.replicas or 0) < now.replicas",
        "operation.replicas == 0",
        f"{GUARDS}::test_which_writes_end_pods",
    ),
    Defect(
        "what is forbidden is not struck out of the next plan",
        "services/executor/strike.py",
        "if _reach_key(workload) in forbidden or not scope.has_namespace(workload.namespace)",
        "if _reach_key(workload) in forbidden",
        f"{GUARDS}::test_what_is_forbidden_is_struck_out_and_nothing_else",
    ),
    Defect(
        "owners of owners are not asked",
        "services/executor/owners.py",
        "marks.extend(await self._marks_of_owners(above.metadata, left - 1))",
        "pass",
        f"{EXECUTOR}::test_a_stored_plan_evicts_nothing_protected[twin-by-cron-1-cronjob]",
    ),
    Defect(
        "a StatefulSet's marks are not read",
        "services/executor/owners.py",
        "marks.extend(await self._marks_of_owners(metadata, LONGEST_CHAIN))",
        "pass",
        f"{EXECUTOR}::test_a_stored_plan_evicts_nothing_protected[twin-by-stateful-set-statefulset]",
    ),
    Defect(
        "a namespace's marks are not read",
        "services/executor/owners.py",
        "if metadata.namespace:",
        "if not metadata.namespace:",
        f"{EXECUTOR}::test_a_stored_plan_evicts_nothing_protected[twin-by-namespace-namespace]",
    ),
    Defect(
        "guards are not asked again before each write",
        "services/executor/writing.py",
        "failed = await self._failed_guards(state, started, operation)",
        "failed: tuple[GuardCheck, ...] = ()",
        f"{EXECUTOR}::test_a_mark_set_between_plan_and_write_counts[twin]",
    ),
    Defect(
        "a write is sent again after a conflict without asking",
        "services/executor/cluster.py",
        "            return again\n        refusal = await check_guards()",
        "            return again\n        refusal = None",
        f"{EXECUTOR}::test_a_mark_that_comes_with_a_conflict_counts[twin]",
    ),
    Defect(
        "an undo is written without asking",
        "services/executor/writing.py",
        "            if failed:\n",
        "            if failed and not started.rollback_of:\n",
        f"{EXECUTOR}::test_an_undo_is_judged_again[twin]",
    ),
    Defect(
        "an earlier plan is written for real in shadow mode",
        "services/executor/effects/context.py",
        "Mode.SHADOW if Mode.SHADOW in modes else Mode.ACTIVE",
        "execution.mode",
        "tests/executor/test_execution.py::"
        "test_a_plan_of_the_active_mode_is_completed_dry_in_shadow_mode",
    ),
    Defect(
        "a run with a kubeconfig does not tell the executor its names",
        "foresail/dependent_settings.py",
        "run.namespaces if run.kubeconfig else None",
        "None",
        f"{UP}::test_the_start_says_what_is_early",
    ),
    Defect(
        "the stack starts on a cluster that cannot be read",
        "foresail/stack/real.py",
        "    await check_cluster(settings)\n",
        "",
        f"{UP}::test_an_unreachable_cluster_is_one_line",
    ),
    Defect(
        "active mode starts without names",
        "foresail/stack/preflight.py",
        "    check_namespaces_named(settings)\n",
        "",
        f"{UP}::test_active_mode_needs_exact_names",
    ),
    Defect(
        "the page does not say that it is early",
        "services/dashboard/sections.py",
        'if run.operating.mode != "active" or run.namespaces is None:',
        'if run.operating.mode == "active" or run.namespaces is None:',
        "tests/dashboard/test_page_state.py::"
        "test_the_head_says_that_writes_to_a_real_cluster_are_early",
    ),
    Defect(
        "the exerciser loads the control plane",
        "services/exerciser/cluster.py",
        " and not _is_control_plane(node)",
        "",
        "tests/exerciser/test_read_load.py::test_the_control_plane_is_not_loaded",
    ),
    Defect(
        "the proof on a real cluster counts a DELETE's dry run as a change",
        "proofs/real_cluster/audit.py",
        '(*query.get("dryRun", ()), *(inside or ()))',
        '(*query.get("dryRun", ()),)',
        f"{PROOF}::test_a_request_changes_something_unless_it_is_dry_refused_or_a_question",
    ),
    Defect(
        "the brake on unready nodes never stands",
        "services/executor/guards/unready_nodes.py",
        "stands = share >= limit and",
        "stands = share > 1 and",
        f"{OUTAGES}::test_the_brake_stands_from_a_share_and_three_nodes_on",
    ),
    Defect(
        "the settling time is not begun anew after an outage",
        "services/executor/ledger.py",
        "    if any(signal.status is not SignalStatus.FRESH for signal in api):\n        return None\n",
        "",
        f"{OUTAGES}::test_the_time_counts_from_the_end_of_an_outage",
    ),
    Defect(
        "pods of Jobs are moved on a real cluster without being asked",
        "services/executor/settings.py",
        "return self.namespaces is None if self.move_job_pods is None else self.move_job_pods",
        "return self.move_job_pods is not False",
        f"{OUTAGES}::test_pods_of_jobs_move_only_where_that_is_allowed",
    ),
    Defect(
        "saving uses up the budget of safety",
        "services/executor/settings.py",
        "return BUDGETS_BY_KIND if default and self.namespaces is not None else self.budgets",
        "return self.budgets",
        f"{OUTAGES}::test_on_a_real_cluster_each_kind_has_a_budget_of_its_own",
    ),
    Defect(
        "a plan of which a part was written is left as it is",
        "services/executor/effects/roll_back.py",
        "if execution.half_done and",
        "if not execution.operations and",
        f"{PARTIAL}::test_a_plan_of_which_a_part_was_done_is_taken_back",
    ),
    Defect(
        "a pod that a budget holds ends the plan",
        "services/executor/writing.py",
        "    return held or bool(started.rollback_of",
        "    return bool(started.rollback_of",
        f"{PARTIAL}::test_a_pod_that_a_budget_holds_leaves_room_for_the_next",
    ),
    Defect(
        "an eviction is not tried before the plan is stored",
        "services/executor/eviction_trials.py",
        "return error.status == 429 and DISRUPTION_BUDGET in error.causes",
        "return False",
        f"{PARTIAL}::test_an_eviction_is_tried_before_the_plan_is_stored",
    ),
)
