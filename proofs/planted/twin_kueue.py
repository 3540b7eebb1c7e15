"""Defects in Kueue on the twin: who is admitted, who gives way, and what its objects say of it."""

from __future__ import annotations

from proofs.planted.defect import Defect

CASE = "twin/tests/kueue/test_cases.py::test_a_case_in_process"
WORLDS = "twin/tests/kueue/test_worlds.py::"

TWIN_KUEUE: tuple[Defect, ...] = (
    Defect(
        "what is borrowed has no limit",
        "twin/kueue/tree.py",
        "            above = min(above, lent - max(0, used - own) + quota.borrowing)",
        "            above = max(above, 0)",
        f"{CASE}[dedicated quota first, then the shared fallback]",
    ),
    Defect(
        "what a lending limit keeps back is lent",
        "twin/kueue/tree.py",
        "        return max(0, self.subtree.get(key, 0) - quota.lending)",
        "        return 0",
        f"{CASE}[a cohort's limits bound what passes between subtrees]",
    ),
    Defect(
        "who has to borrow comes first",
        "twin/kueue/scheduling.py",
        "            entries.sort(key=lambda e: (e.assignment.borrowing, *e.info.rank))",
        "            entries.sort(key=lambda e: e.info.rank)",
        f"{CASE}[who fits its own quota comes before who has to borrow]",
    ),
    Defect(
        "a strict queue goes on behind who does not fit",
        "twin/kueue/snapshot.py",
        'self.spec.get("queueingStrategy") == "StrictFIFO"',
        'self.spec.get("queueingStrategy") == "Strict"',
        f"{CASE}[under StrictFIFO the older job blocks the newer one]",
    ),
    Defect(
        "what is kept free for one round is kept for all",
        "twin/kueue/scheduling.py",
        "                    queue.free(key, amount)",
        "                    del key, amount",
        f"{CASE}[under BestEffortFIFO a job that does not fit blocks nobody]",
    ),
    Defect(
        "equals are preempted",
        "twin/kueue/preemption.py",
        "    lower = info.priority < priority",
        "    lower = info.priority <= priority",
        f"{CASE}[LowerPriority spares equals]",
    ),
    Defect(
        "more give way than are needed",
        "twin/kueue/preemption.py",
        "        for candidate in targets[-2::-1]:",
        "        for candidate in targets[:0]:",
        f"{WORLDS}test_a_candidate_that_is_not_needed_is_never_evicted",
    ),
    Defect(
        "who got quota first gives way first",
        "twin/kueue/preemption.py",
        "info.priority, -info.reserved_at,",
        "info.priority, info.reserved_at,",
        f"{CASE}[of equals, who was admitted last goes first]",
    ),
    Defect(
        "the threshold of preemption is not looked at",
        "twin/kueue/preemption.py",
        "(most is None or info.priority <= most)",
        "(most is None or most is not None)",
        f"{WORLDS}test_a_threshold_spares_who_is_above_it",
    ),
    Defect(
        "a flavor that borrows ends the search where it should not",
        "twin/kueue/flavors.py",
        '        return mode[1] > 0 and rules.get("whenCanBorrow") == "TryNextFlavor"',
        "        return False",
        f"{CASE}[TryNextFlavor looks on before it borrows]",
    ),
    Defect(
        "a flavor's taints keep nobody away",
        "twin/kueue/node_terms.py",
        '        if taint.get("effect") in _COUNTED and not any(',
        '        if taint.get("effect") == "" and not any(',
        f"{CASE}[a tainted flavor is for jobs that tolerate it, and gives them no toleration]",
    ),
    Defect(
        "quota is given back while the Job still runs",
        "twin/kueue/jobs.py",
        '            if not self._stop(job, workload, evicted["message"]):\n'
        "                return\n"
        '            running = (job.body.get("status") or {}).get("active", 0)\n'
        '            if is_true(workload, "QuotaReserved") and not running:\n',
        '            self._stop(job, workload, evicted["message"])\n'
        '            if is_true(workload, "QuotaReserved"):\n',
        f"{WORLDS}test_a_job_keeps_its_quota_until_its_pods_are_gone",
    ),
    Defect(
        "a job that waits again keeps the selector of its old flavor",
        "twin/kueue/jobs.py",
        '    for field in ("nodeSelector", "tolerations"):',
        "    for field in ():",
        f"{WORLDS}test_an_evicted_job_forgets_its_flavor",
    ),
    Defect(
        "the next try comes at once",
        "twin/kueue/lifecycle.py",
        "        at = self._desk.now + min(delay, float(config.backoff_most_seconds))",
        "        at = self._desk.now",
        f"{CASE}[pods that are not ready in time cost the admission, and the next try comes later]",
    ),
    Defect(
        "one check that is ready will do for all",
        "twin/kueue/conditions.py",
        '    ready = all(row["state"] == "Ready"',
        '    ready = any(row["state"] == "Ready"',
        f"{CASE}[every check has to be ready]",
    ),
    Defect(
        "v1beta1 is only called so",
        "twin/custom/version.py",
        "        if self.from_kept is not None and",
        "        if self.from_kept is None and",
        f"{CASE}[a queue of v1beta2 is read as v1beta1]",
    ),
    Defect(
        "what is to be looked at is lost in a checkpoint",
        "twin/kueue/controllers.py",
        '    KEEPS = ("_jobs", "_workloads", "_queues", "_planned", "_wakes")',
        '    KEEPS = ("_jobs", "_workloads", "_queues", "_wakes")\n    LEAVES = ("_planned",)',
        f"{WORLDS}test_a_checkpoint_in_the_midst",
    ),
)
