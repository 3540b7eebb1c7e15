"""Defects in machines that come and go: the cloud, and what decides about it."""

from __future__ import annotations

from proofs.planted.defect import Defect

_AUTOSCALER = "twin/tests/provisioners/test_cluster_autoscaler.py::test_case"
_KARPENTER = "twin/tests/provisioners/test_karpenter.py::test_case"
_CONTINUING = "twin/tests/provisioners/test_continuing.py::"
_MEMORY = "twin/tests/provisioners/test_memory.py::"
_CLOUD = "twin/tests/machines/test_cloud.py::"
_PROVISIONERS = "twin/provisioners/"
_SCALE_UP = f"{_PROVISIONERS}cluster_autoscaler/scale_up.py"
_SCALE_DOWN = f"{_PROVISIONERS}cluster_autoscaler/scale_down.py"
_DRAINABILITY = f"{_PROVISIONERS}cluster_autoscaler/drainability.py"
_OURS = f"{_PROVISIONERS}karpenter/"

MACHINES = (
    Defect(
        "least-waste overlooks memory",
        _SCALE_UP,
        "return (cpu - asked_cpu) / cpu + (memory - asked_memory) / memory",
        "return (cpu - asked_cpu) / cpu",
        f"{_AUTOSCALER}[least-waste takes more cores where that leaves less memory idle]",
    ),
    Defect(
        "small pods are packed first",
        _SCALE_UP,
        "return sorted(groups, key=score, reverse=True)",
        "return sorted(groups, key=score)",
        f"{_AUTOSCALER}[large pods first: two of 1.5 and two of 0.5 cores share two nodes of 2]",
    ),
    Defect(
        "a node at the threshold counts as used",
        f"{_PROVISIONERS}cluster_autoscaler/view.py",
        "if utilization <= self._config.utilization_threshold:",
        "if utilization < self._config.utilization_threshold:",
        f"{_AUTOSCALER}[a node at exactly half is drained when its pods fit elsewhere]",
    ),
    Defect(
        "the annotation that disables scale-down is overlooked",
        _SCALE_DOWN,
        'or node.annotations.get(SCALE_DOWN_DISABLED) == "true"',
        'or node.annotations.get(SCALE_DOWN_DISABLED) == "yes"',
        f"{_AUTOSCALER}[the annotation scale-down-disabled keeps a node]",
    ),
    Defect(
        "an unready node goes as early as a ready one",
        _SCALE_DOWN,
        'config.unneeded_seconds if node.ready_status == "True" else config.unready_seconds',
        "config.unneeded_seconds",
        f"{_AUTOSCALER}[an unready node goes after 20 minutes, not after ten]",
    ),
    Defect(
        "a budget that allows nothing does not keep a node",
        _DRAINABILITY,
        "if any(_allowed(budget) < 1 for budget in budgets):",
        "if any(_allowed(budget) < 0 for budget in budgets):",
        f"{_AUTOSCALER}[a budget that allows nothing keeps a node]",
    ),
    Defect(
        "a pod counts as old at once",
        f"{_PROVISIONERS}cluster_autoscaler/autoscaler.py",
        "self._client.now - self._config.young_pod_seconds",
        "self._client.now + self._config.young_pod_seconds",
        f"{_AUTOSCALER}[pods created within two seconds wait for the next look]",
    ),
    Defect(
        "each pod moves the end of its batch without limit",
        f"{_OURS}provisioning.py",
        "now + self._config.batch_idle_seconds, self._begun_at + self._config.batch_most_seconds",
        "now + self._config.batch_idle_seconds, now + self._config.batch_most_seconds",
        f"{_KARPENTER}[a batch ends after ten seconds at the latest]",
    ),
    Defect(
        "a decision is carried out without a second look",
        f"{_OURS}disruption.py",
        "self._clock.after(self._config.validation_seconds,",
        "self._clock.after(0.0,",
        f"{_KARPENTER}[a decision to consolidate says nothing for good in its first 15 s]",
    ),
    Defect(
        "a spot node is replaced by a cheaper spot node",
        f"{_OURS}consolidation.py",
        'if spot_only and (kinds is None or kinds.has("spot")) and not self._config.spot_to_spot:',
        "if spot_only and kinds is not None and not self._config.spot_to_spot:",
        f"{_KARPENTER}[a spot node is not replaced by another spot node]",
    ),
    Defect(
        "a node that comes and goes between two looks is reported as gone",
        "twin/controllers/node_registry.py",
        'self._changed.setdefault(node.name, node.uid if change.type == "DELETED" else "")',
        'self._changed[node.name] = node.uid if change.type == "DELETED" else ""',
        "twin/tests/behaviour/test_nodes.py::test_what_comes_and_goes_between_two_looks_is_not_reported",
    ),
    Defect(
        "the cloud keeps a machine whose notice a scenario gave",
        "twin/machines/cloud.py",
        "        spot.on_end = self._take_back\n",
        "",
        f"{_CLOUD}test_a_notice_that_a_scenario_gives_ends_the_rent",
    ),
    Defect(
        "a machine that is taken back is drained when it is gone",
        f"{_OURS}interruption.py",
        '        self._client.delete("nodeclaims", "", name)\n',
        "",
        f"{_KARPENTER}[a spot notice drains the node and orders another machine while this one still runs]",
    ),
    Defect(
        "an offering whose machine is taken back is tried again at once",
        f"{_OURS}interruption.py",
        "        self._lifecycle.avoid_spot(claim)\n",
        "",
        f"{_KARPENTER}[an offering whose machine is taken back is not tried for three minutes]",
    ),
    Defect(
        "spot notices are acted on without an interruption queue",
        f"{_OURS}interruption.py",
        "self._listens = bool(config.interruption_queue)",
        "self._listens = True",
        f"{_KARPENTER}[without an interruption queue nobody acts on a spot notice]",
    ),
    Defect(
        "do-not-disrupt on a node is overlooked",
        f"{_OURS}candidates.py",
        'if state.node.annotations.get(DO_NOT_DISRUPT) == "true":',
        'if state.node.annotations.get(DO_NOT_DISRUPT) == "yes":',
        f"{_KARPENTER}[do-not-disrupt on a node blocks it]",
    ),
    Defect(
        "a share of a pool's nodes is rounded down",
        f"{_OURS}pools.py",
        "return math.ceil(nodes * int(self.nodes[:-1]) / 100)",
        "return math.floor(nodes * int(self.nodes[:-1]) / 100)",
        f"{_KARPENTER}[the default budget lets a tenth of the nodes go at a time, rounded up]",
    ),
    Defect(
        "a stored state forgets since when nodes are unneeded",
        _SCALE_DOWN,
        'KEEPS = ("unneeded", "_recheck_at")\n    LEAVES = ("found",)',
        'KEEPS = ("_recheck_at",)\n    LEAVES = ("found", "unneeded")',
        f"{_CONTINUING}test_a_stored_state_goes_on_alike[cluster-autoscaler]",
    ),
    Defect(
        "an order counts in everybody's luck",
        "twin/machines/cloud.py",
        'shape.boot_median_seconds, shape.boot_sigma, f"{owner}/{number}"',
        "shape.boot_median_seconds, shape.boot_sigma, str(len(self.machines))",
        f"{_CLOUD}test_an_order_changes_nobody_elses_luck",
    ),
    Defect(
        "a machine is billed from when it has booted",
        "twin/machines/cloud.py",
        "        machine.booted = True\n        shape",
        "        machine.booted, machine.ordered_at = True, self._world.now\n        shape",
        f"{_CLOUD}test_the_bill_ends_with_the_machine",
    ),
    Defect(
        "cores that boot do not count in the quota",
        "twin/machines/cloud.py",
        "catalogue[machine.machine].cpu_millicores for machine in self.machines.values()\n",
        "catalogue[machine.machine].cpu_millicores * machine.booted for machine in self.machines.values()\n",
        f"{_CLOUD}test_a_quota_counts_the_cores_that_run",
    ),
    Defect(
        "Cluster Autoscaler does not hear of pods that come to a node",
        f"{_PROVISIONERS}place_table.py",
        "if isinstance(record, PodRecord):",
        "if isinstance(record, PodRecord) and record.deletion_at is not None:",
        f"{_MEMORY}test_cluster_autoscaler_knows_the_nodes_as_they_are",
    ),
    Defect(
        "Karpenter does not hear of pods that come to a node",
        f"{_OURS}memory.py",
        'case "pods" if moving:',
        'case "pods" if moving and record.deletion_at is not None:',
        f"{_MEMORY}test_karpenter_knows_the_cluster_as_it_is",
    ),
    Defect(
        "Karpenter remembers what failed before a pod took or waited for room",
        f"{_OURS}memory.py",
        "        if moving:\n            self.failures.clear()",
        '        if moving and change.type != "MODIFIED":\n            self.failures.clear()',
        f"{_MEMORY}test_karpenter_remembers_only_what_still_fails",
    ),
    Defect(
        "a pod that is bound changes nothing for Karpenter",
        f"{_OURS}memory.py",
        "            or waiting != bool(before.unschedulable)\n            or _differ(record, before, _OF_PODS)",
        "            or waiting != bool(before.unschedulable)",
        f"{_MEMORY}test_karpenter_knows_the_cluster_as_it_is",
    ),
    Defect(
        "candidates of an earlier look are ranked again",
        f"{_OURS}memory.py",
        "if self._ranking is None or self._ranking.candidates is not found:",
        "if self._ranking is None:",
        f"{_MEMORY}test_candidates_as_columns_are_those_of_one_by_one",
    ),
    Defect(
        "the oldest nodes are not the cheapest to disrupt",
        f"{_OURS}ranking.py",
        "np.lexsort((self._cost[rows] * left,))",
        "np.lexsort((self._cost[rows],))",
        f"{_MEMORY}test_candidates_as_columns_are_those_of_one_by_one",
    ),
    Defect(
        "what was put on nodes in thought stays there",
        f"{_OURS}solver.py",
        "        self.snapshot.revert(mark)\n",
        "",
        f"{_MEMORY}test_karpenter_knows_the_cluster_as_it_is",
    ),
    Defect(
        "Cluster Autoscaler packs waiting pods in order of their creation",
        f"{_PROVISIONERS}cluster_autoscaler/autoscaler.py",
        "self._turns.bits(pod.uid, loop)",
        "pod.created_at",
        "tests/lab/fidelity/test_page.py::test_where_the_real_program_does_not_repeat_itself_the_twin_does_not",
    ),
    Defect(
        "a file of machines of one's own is described as a scenario",
        "foresail/twin/own_files.py",
        "if is_scenario(path) and is_machine_file(path):",
        "if path.is_dir():",
        "tests/foresail/twin/test_actions.py::test_own_files_stand_in_the_same_table",
    ),
    Defect(
        "a pod with other labels stays in the old selection",
        "twin/pod_selections.py",
        "if entry.pods.pop(pod.uid, None) is not None:",
        "if gone and entry.pods.pop(pod.uid, None) is not None:",
        "twin/tests/engine/test_pod_selections.py::test_selections_follow_pods",
    ),
    Defect(
        "a pod moves whose Service would lack it",
        "services/agents/admission/room.py",
        "(rate <= BRIEF_RATIO * service.borne_rate and rate < broken)",
        "rate < broken",
        "tests/agents/test_making_room.py::test_a_service_has_to_bear_the_time_without_its_pod",
    ),
    Defect(
        "room is made for a pod that fits as it is",
        "services/collector/room.py",
        "if lacking_cores <= ROUNDING and lacking_bytes <= 0:",
        "if lacking_cores <= -1e9 and lacking_bytes <= 0:",
        "tests/collector/test_room.py::test_what_no_move_helps_is_not_listed",
    ),
    Defect(
        "a migration moves others than those it names",
        "services/executor/plans/migrate.py",
        'if f"{pod.namespace}/{pod.name}" in named]',
        "if pod.namespace]",
        "tests/executor/test_moving_plans.py::test_migrate_moves_the_pods_that_are_named_or_none",
    ),
)
