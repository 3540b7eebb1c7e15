"""Defects in what the embedded cluster's lists, selectors, controllers and scheduler decide."""

from __future__ import annotations

from proofs.planted.defect import Defect

WATCHES = "tests/twin/api/test_watch_versions.py::"
SELECTORS = "tests/twin/api/test_selectors.py::test_label_selectors"
LISTS = "tests/twin/api/test_long_lists.py::"
CONTROLLERS = "tests/twin/controllers/"
TWIN_RULES = (
    Defect(
        "an absent key is in every set's complement but this one",
        "twin/api/selecting.py",
        "return lambda labels: labels.get(name) not in values",
        "return lambda labels: name in labels and labels[name] not in values",
        SELECTORS,
    ),
    Defect(
        "an absent key equals what it is compared with",
        "twin/api/selecting.py",
        "return lambda labels: labels.get(name) != value",
        "return lambda labels: labels.get(name, value) != value",
        SELECTORS,
    ),
    Defect(
        "an empty label counts as none",
        "twin/api/selecting.py",
        "return lambda labels: name not in labels",
        "return lambda labels: not labels.get(name)",
        SELECTORS,
    ),
    Defect(
        "greater than includes equal",
        "twin/api/selecting.py",
        "return int(label_value) > limit if sign",
        "return int(label_value) >= limit if sign",
        SELECTORS,
    ),
    Defect(
        "a page begins with the last item of the one before",
        "twin/snapshot.py",
        "max(low, bisect_right(keys, after))",
        "max(low, bisect_left(keys, after))",
        f"{LISTS}test_long_pages_add_up",
    ),
    Defect(
        "a next page shows another version",
        "twin/api/listing.py",
        "_make_token(list_request.snapshot.version, last)",
        "_make_token(_NEWEST, last)",
        f"{LISTS}test_pages_show_one_version",
    ),
    Defect(
        "a long page takes one item too many",
        "twin/api/listing.py",
        "        if 0 <= left < len(chosen):\n",
        "        if 0 <= left < len(chosen) - 1:\n",
        f"{LISTS}test_pages_of_a_selection_add_up",
    ),
    Defect(
        "the last page promises another",
        "twin/api/listing.py",
        "    if over and last is not None:",
        "    if last is not None:",
        f"{LISTS}test_long_pages_add_up",
    ),
    Defect(
        "a change is lost where a watch resumes",
        "twin/changes.py",
        "start = bisect_right(self._changes, version,",
        "start = bisect_right(self._changes, version + 1,",
        f"{WATCHES}test_a_watch_resumes_behind_its_version",
    ),
    Defect(
        "a namesake keeps what belonged to another",
        "twin/controllers/garbage.py",
        'return record is not None and record.uid == owner["uid"]',
        "return record is not None",
        f"{CONTROLLERS}test_garbage.py::test_a_namesake_of_an_owner_is_no_owner",
    ),
    Defect(
        "an owner that is gone keeps its dependents",
        "twin/controllers/garbage.py",
        "            if any(self._exists(record.namespace, owner) for owner in rest):",
        "            if rest:",
        f"{CONTROLLERS}test_garbage.py::test_a_second_owner_that_is_gone_keeps_nothing",
    ),
    Defect(
        "a second delete lengthens the grace",
        "twin/admission/deletion.py",
        "or now + grace < record.deletion_at",
        "or now + grace != record.deletion_at",
        "tests/twin/engine/test_deletes.py::test_a_second_delete_shortens_the_grace_and_never_lengthens_it",
    ),
    Defect(
        "another reason counts as a transition",
        "twin/controllers/conditions.py",
        '            if entry["status"] == status:',
        '            if entry["reason"] == reason:',
        "tests/twin/engine/test_deletes.py::test_a_condition_keeps_its_time_while_its_status_stays",
    ),
    Defect(
        "a scaling at the edge of its period counts",
        "twin/controllers/scaling_policy.py",
        "for at, count in past if at > now",
        "for at, count in past if at >= now",
        f"{CONTROLLERS}test_scaling_policy.py::test_policies_down",
    ),
    Defect(
        "the boldest policy wins where the mildest should",
        "twin/controllers/scaling_policy.py",
        'return max(proposals) if rules["selectPolicy"] == "Min" else min(proposals)',
        "return min(proposals)",
        f"{CONTROLLERS}test_scaling_policy.py::test_policies_down",
    ),
    Defect(
        "a budget of nothing allows one eviction",
        "twin/controllers/budget.py",
        'if status["disruptionsAllowed"] <= 0:',
        'if status["disruptionsAllowed"] < 0:',
        f"{CONTROLLERS}test_budget.py::test_an_eviction_is_spent_at_once",
    ),
    Defect(
        "a figure near the real program's counts although it is not as documented",
        "lab/fidelity/compare.py",
        "return self.twin_as_documented is not False and self.alike is not False",
        "return self.alike is not False",
        "tests/lab/fidelity/test_figures.py::test_a_row_holds_when_documented_and_near",
    ),
    Defect(
        "a rented node counts for the whole scenario",
        "lab/fidelity/metrics.py",
        "end = end_of_all if one.gone is None else one.gone",
        "end = end_of_all",
        "tests/lab/fidelity/test_figures.py::test_node_counts_are_means_of_minutes",
    ),
    Defect(
        "a memory limit is lowered below what is in use",
        "twin/behaviour/resize.py",
        '        if used < limit:\n            return ""',
        '        if used >= 0:\n            return ""',
        f"{CONTROLLERS}test_resize_actuation.py::test_a_memory_limit_in_use_is_not_lowered",
    ),
    Defect(
        "each deferred resize plans a retry of its own",
        "twin/behaviour/resize.py",
        "        if node_name not in self._retries:",
        "        if node_name:",
        f"{CONTROLLERS}test_resize_actuation.py::test_deferred_pods_cost_one_look_in_three_minutes",
    ),
    Defect(
        "a recommendation forgets nothing",
        "twin/vertical/histogram.py",
        "return float(2.0**half_lives)",
        "return float(1.0**half_lives)",
        "tests/twin/vertical/test_cases.py::test_estimate",
    ),
    Defect(
        "of two replicas both may be evicted at once",
        "twin/vertical/groups.py",
        "alive > self.configured - self.tolerance",
        "alive >= self.configured - self.tolerance",
        "tests/twin/vertical/test_cases.py::test_case",
    ),
    Defect(
        "a custom resource with a value of a wrong type is stored",
        "twin/admission/structural.py",
        '    if stated_type not in schema.type.split(","):\n',
        '    if stated_type == "null":\n',
        "tests/twin/vertical/test_cases.py::test_the_schema_answers_as_a_real_server",
    ),
    Defect(
        "unknown fields of a custom resource are kept",
        "twin/admission/structural.py",
        "            del value[name]\n",
        "",
        "tests/twin/vertical/test_cases.py::test_unknown_fields_are_dropped_and_said",
    ),
    Defect(
        "the scheduler takes a node for where it first was",
        "twin/scheduling/topology.py",
        "            if value != self.values[row]:",
        "            if self.values[row] is None:",
        "tests/twin/scheduler/test_topology.py::test_kept_labels_follow_every_change",
    ),
    Defect(
        "pods use what other pods drew before",
        "twin/behaviour/variation.py",
        "if np.array_equal(pods, keys):",
        "if len(pods) == len(keys):",
        "tests/twin/engine/test_metrics.py::test_draws_that_are_kept_are_those_of_the_pods_and_times",
    ),
)
