"""Defects in how the embedded cluster serves requests."""

from __future__ import annotations

from proofs.planted.defect import Defect

_SERVING = "twin/tests/serving/"
_DAY = "tests/foresail/day/"
_ALL = "twin/tests/determinism/test_all_of_it.py::"
_SERVICES = f"{_SERVING}test_services.py::"
_QUEUE = f"{_SERVING}test_exact_queue.py::"

_WEBHOOKS = "twin/tests/contract/test_webhooks.py::"

TWIN_SERVING = (
    Defect(
        "answers may be cached",
        "twin/api/server.py",
        "*(() if kept else (_UNCACHED,)),",
        "",
        "twin/tests/contract/test_lists.py::test_answers_are_not_to_be_cached",
    ),
    Defect(
        "who refuses sees what was sent",
        "twin/api/objects.py",
        "            obj = self.admission.mutated(write, obj, None, request, self._reading(kind, request))\n"
        "            review",
        "            self.admission.mutated(write, obj, None, request, self._reading(kind, request))\n"
        "            review",
        f"{_WEBHOOKS}test_changes_in_order_of_names",
    ),
    Defect(
        "a webhook that fails lets everything pass",
        "twin/webhooks/hooks.py",
        'return self.spec.get("failurePolicy") == "Ignore"',
        'return self.spec.get("failurePolicy") != "Never"',
        f"{_WEBHOOKS}test_failures",
    ),
    Defect(
        "a journal forgets what webhooks said",
        "twin/api/journal.py",
        '{"w": heard.document()} if heard is not None and heard.answers else {}',
        "{}",
        "twin/tests/webhooks/test_repeatable.py::test_a_journal_needs_no_webhooks",
    ),
    Defect(
        "what waits at the end of an interval is forgotten",
        "twin/serving/exact.py",
        "        self.waiting = rest[patient:]\n",
        "        self.waiting = rest[patient + 1 :]\n",
        f"{_QUEUE}test_requests_and_little",
    ),
    Defect(
        "a change of speed leaves begun requests as they are",
        "twin/serving/exact.py",
        "ends = [began + left * slowness for _, left in self.begun]",
        "ends = [began + left for _, left in self.begun]",
        f"{_QUEUE}test_change_of_speed_is_exact",
    ),
    Defect(
        "a client gives up before its time is over",
        "twin/serving/exact.py",
        "if entry[0] + timeout_seconds > until",
        "if entry[0] + timeout_seconds > until + 4.0",
        f"{_QUEUE}test_client_gives_up_only_when_its_time_is_over",
    ),
    Defect(
        "waits are as of one server",
        "twin/serving/steady.py",
        "more = np.diff(service.residual_cdf(edges * servers))",
        "more = np.diff(service.residual_cdf(edges))",
        f"{_SERVING}test_agreement.py::test_quantiles_agree_at_rest",
    ),
    Defect(
        "clients of an overloaded pod wait for ever",
        "twin/serving/aggregate.py",
        "lapsed = self._lapse(at - work.timeout_seconds)",
        "lapsed = self._lapse(began - 1e6)",
        f"{_SERVING}test_agreement.py::test_overload_agrees",
    ),
    Defect(
        "an autoscaler reads the requests of the pods that served before",
        "twin/serving/serving.py",
        "            self._rows.pop(key, None)\n            self._places = None\n",
        "            self._rows.pop(key, None)\n",
        f"{_SERVING}test_scaling_on_requests.py::test_readings_of_pods_follow_who_serves",
    ),
    Defect(
        "requests in a container that ends are forgotten",
        "twin/serving/serving.py",
        "backends.account.lost += backends.remove(uid)",
        "backends.remove(uid)",
        f"{_SERVICES}test_every_request_ends_once_whatever_happens",
    ),
    Defect(
        "a dead machine refuses requests",
        "twin/serving/serving.py",
        "if pod is not None and pod.node_name in self._world.down:",
        "if pod is None:",
        f"{_SERVICES}test_dead_machine_loses_requests_until_it_is_noticed",
    ),
    Defect(
        "a node's speed is no matter to its workers",
        "twin/serving/serving.py",
        'speed = usage["rate"][rows] * ceiling / workers',
        "speed = ceiling / workers",
        f"{_SERVICES}test_contention_becomes_latency",
    ),
    Defect(
        "requests to a cold pod take longer, but cost it no more CPU",
        "twin/serving/serving.py",
        "wanted = wanted * self._cost(key, (world.now, world.now + seconds))",
        "pass",
        f"{_SERVING}test_overload.py::test_cold_pods_cost_more_cpu_and_answer_later",
    ),
    Defect(
        "a pod is as warm at the begin of an interval as at its end",
        "twin/serving/warmth.py",
        "(last - first) * (1.0 - (first + last) / (2.0 * warm)) / seconds",
        "1.0 - last / warm",
        f"{_SERVING}test_overload.py::test_coldness_is_the_mean_of_its_interval",
    ),
    Defect(
        "probes do not stand in the queue of a pod that serves",
        "twin/health/probes.py",
        "        self._look_at_queues()\n",
        "",
        f"{_SERVING}test_overload.py::test_a_full_queue_fails_readiness_and_takes_the_others_along",
    ),
    Defect(
        "a busy worker counts as a queue",
        "twin/serving/serving.py",
        'np.maximum(0.0, backends["present"] - workers)',
        'backends["present"]',
        f"{_SERVING}test_overload.py::test_busy_workers_are_no_queue",
    ),
    Defect(
        "a change of traffic holds from the last interval on",
        "twin/serving/serving.py",
        '        """Let the requests of Services change from now on, until `end_change(number)`."""\n'
        "        self._settle_all()\n",
        '        """Let the requests of Services change from now on, until `end_change(number)`."""\n',
        f"{_SERVING}test_traffic_changes.py::test_the_change_is_exact_whatever_the_steps_are",
    ),
    Defect(
        "a change of traffic is about everybody",
        "twin/serving/traffic_changes.py",
        "return not self.services or service in self.services",
        "return True",
        f"{_SERVING}test_traffic_changes.py::test_services_that_are_not_named_are_left_alone",
    ),
    Defect(
        "a course counts from the begin of the cluster",
        "twin/serving/traffic_changes.py",
        "self._read[newest], (begin, end), change.since, burst_key",
        "self._read[newest], (begin, end), start, burst_key",
        f"{_SERVING}test_traffic_changes.py::test_the_newest_course_counts_from_its_begin",
    ),
    Defect(
        "a pod that replaces another one has all the time again",
        "twin/behaviour/job_work.py",
        'if owner.get("controller") and owner.get("kind") == "Job":',
        'if owner.get("controller") and owner.get("kind") == "ReplicaSet":',
        f"{_SERVING}test_job_work.py::test_who_takes_the_place_of_another_has_no_more_time",
    ),
    Defect(
        "deadlines of a workload file are read and forgotten",
        "twin/arrivals.py",
        '            **({} if limit is None else {"activeDeadlineSeconds": limit}),\n',
        "",
        f"{_SERVING}test_job_work.py::test_deadlines_of_a_workload_file_count",
    ),
    Defect(
        "the weather's failures are not told to who draws them",
        "twin/health/machines.py",
        "            self._sky.report(kind, place, seconds)\n",
        "",
        f"{_DAY}test_weather.py::test_each_machine_that_is_lost_has_a_cause_above_it",
    ),
    Defect(
        "a day of a log claims that nobody was evicted",
        "foresail/day/pages.py",
        'known = ("restart",) if day.missing else tuple(names)',
        "known = tuple(names)",
        f"{_DAY}test_recorded.py::test_what_a_log_cannot_know_is_left_out",
    ),
    Defect(
        "a time without observations is drawn as if it had been seen",
        "foresail/day/recorded.py",
        "if at - last > _GAP_INTERVALS * view.interval_seconds:",
        "if at < last:",
        f"{_DAY}test_recorded.py::test_a_time_without_observations_is_a_span",
    ),
    Defect(
        "machines that are not ready count as capacity of a recorded day",
        "foresail/day/recorded.py",
        "sizes = [size for size, is_ready in zip(cores, ready, strict=True) if is_ready]",
        "sizes = [size for size, _ in zip(cores, ready, strict=True)]",
        f"{_DAY}test_recorded.py::test_amounts_are_those_that_were_observed",
    ),
    Defect(
        "changes of traffic are not kept",
        "twin/serving/traffic_changes.py",
        'KEEPS = ("_running",)',
        "KEEPS = ()",
        f"{_ALL}test_a_killed_world_goes_on_as_if_nothing_had_been",
    ),
    Defect(
        "which pods failed their probes is not kept",
        "twin/health/probes.py",
        'KEEPS = ("_failing_since", "_silent")',
        'KEEPS = ("_silent",)',
        f"{_ALL}test_a_killed_world_goes_on_as_if_nothing_had_been",
    ),
    Defect(
        "the weather draws from the process",
        "twin/health/programs.py",
        "wait = span[0] + span[1] * self._crash_moments.uniform(uid, number)",
        "wait = span[0] + span[1] * (id(self) % 1_000 / 1_000.0)",
        f"{_ALL}test_equal_seeds_are_equal_to_the_byte",
    ),
    Defect(
        "weather that is off slows starts",
        "twin/health/programs.py",
        "            return self._world.config.kubelet.probe_answer_seconds\n",
        "            return config.answer_median_seconds\n",
        "twin/tests/health/test_off.py::test_off_is_the_world_without_the_models",
    ),
    Defect(
        "who waits at the end of an interval has not waited in it",
        "twin/serving/exact.py",
        "np.full(len(waited), until)",
        "waited",
        f"{_SERVICES}test_littles_law_holds_whatever_happens",
    ),
    Defect(
        "pods that serve keep using what they used before",
        "twin/behaviour/contention.py",
        "            self._grant_served(*served)\n",
        "            pass\n",
        f"{_SERVICES}test_usage_follows_the_requests",
    ),
    Defect(
        "every pod of a Service draws the same arrivals",
        "twin/serving/service_requests.py",
        'key = self._arrivals.bits(f"{self.key}/{entity}", round(begin * 1e6))',
        'key = self._arrivals.bits(f"{self.key}/pod", round(begin * 1e6))',
        f"{_SERVICES}test_pods_draw_apart",
    ),
    Defect(
        "an average target is taken for a total",
        "twin/controllers/total_metrics.py",
        "replicas = math.ceil(round_last_bits(value / target))",
        "replicas = math.ceil(round_last_bits(value / target * current))",
        f"{_SERVING}test_scaling_on_requests.py::test_replicas_follow_requests_per_second",
    ),
    Defect(
        "a rate below zero is read",
        "twin/workloads/rate_file.py",
        "if not isfinite(value) or not 0.0 <= value <= most:",
        "if not isfinite(value) or not value <= most:",
        "twin/tests/workloads/test_rates.py::test_bad_line_is_named_with_a_remedy",
    ),
    Defect(
        "idle seconds of a node are all of its seconds",
        "twin/exporters/machines.py",
        "idle = max(0.0, cores * alive - busy)",
        "idle = max(0.0, cores * alive)",
        f"{_SERVING}test_exposition.py::test_cpu_counters_are_the_work_that_was_done",
    ),
    Defect(
        "a bucket counts what is within it alone",
        "twin/exporters/requests.py",
        "max(before, count)",
        "max(0.0, count - before)",
        f"{_SERVING}test_exposition.py::test_requests_have_counters_and_buckets",
    ),
    Defect(
        "work of a pod that is removed is forgotten",
        "twin/behaviour/job_work.py",
        "        if left == math.inf:\n",
        "        if left == math.inf or pod is None:\n",
        f"{_SERVING}test_job_work.py::test_work_that_is_cut_off_is_lost",
    ),
    Defect(
        "work that fails counts as done",
        "twin/behaviour/job_work.py",
        "if done and pod is not None and not exit_code_of(pod):",
        "if done and pod is not None:",
        f"{_SERVING}test_job_work.py::test_finished_work_is_counted_by_its_outcome",
    ),
    Defect(
        "anybody may scrape",
        "twin/api/router.py",
        '            requester.require_path("GET", path)\n            page = exposition',
        "            page = exposition",
        f"{_SERVING}test_exposition.py::test_readers_of_objects_may_not_scrape",
    ),
)
