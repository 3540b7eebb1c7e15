"""Defects in following a cluster by watches."""

from __future__ import annotations

from proofs.planted.defect import Defect

INDEX = "tests/cluster/test_kube_index.py"
FOLLOW = "tests/cluster/test_kube_follow.py"

STREAM = "tests/cluster/test_byte_stream.py"
CLIENT = "tests/cluster/test_official_client.py"

WATCHING = (
    Defect(
        "agents take a quiet cluster for a stale one",
        "services/agents/freshness.py",
        "        if not signal.watched:\n",
        "        if True:\n",
        "tests/agents/test_agent_handler.py::test_a_signal_exactly_at_its_limit_is_still_used",
    ),
    Defect(
        "watch: what opens after the end is read on",
        "services/byte_stream.py",
        "            if self._stopped.is_set():  # while it was being opened\n                return\n",
        "",
        f"{STREAM}::test_closing_while_it_opens_reads_nothing",
    ),
    Defect(
        "watch: a thread holds up the end of the process",
        "services/byte_stream.py",
        "name=THREAD, daemon=True)",
        "name=THREAD, daemon=False)",
        f"{STREAM}::test_closing_while_it_opens_reads_nothing",
    ),
    Defect(
        "watch: a slow reader lets pieces pile up",
        "services/byte_stream.py",
        "self._room.acquire(timeout=_LOOK_SECONDS)",
        "self._room",
        f"{STREAM}::test_a_slow_reader_makes_the_server_wait",
    ),
    Defect(
        "client: a rotated token is never read again",
        "services/official_client.py",
        "        if answer.status == 401 and self._renew(used):",
        "        if answer.status == 419 and self._renew(used):",
        f"{CLIENT}::test_a_rotated_token_is_read_again",
    ),
    Defect(
        "client: refused credentials are read at every request",
        "services/official_client.py",
        "            if now - self._renewed_seconds < RENEW_SECONDS:\n                return False\n",
        "",
        f"{CLIENT}::test_a_token_that_stays_wrong_is_tried_twice_and_then_once",
    ),
    Defect(
        "watch: a deleted object stays",
        "services/kube_index.py",
        "            self._objects.pop(identity.key, None)\n",
        "            pass\n",
        f"{INDEX}::test_a_watch_goes_on_where_the_list_ended",
    ),
    Defect(
        "watch: a bookmark is no version",
        "services/kube_index.py",
        "            self._move_to(_BOOKMARKS.decode(change.object).metadata.resource_version)\n",
        "            pass\n",
        f"{INDEX}::test_a_bookmark_moves_the_version_alone",
    ),
    Defect(
        "watch: a version that is gone is asked for again and again",
        "services/kube_follow.py",
        '        """Forget the version; the objects are handed out until the new list is there."""\n'
        '        self.index.version = ""\n',
        '        """Forget the version; the objects are handed out until the new list is there."""\n',
        f"{FOLLOW}::test_what_is_too_old_is_listed_again",
    ),
    Defect(
        "watch: a silent connection is waited for",
        "services/kube_follow.py",
        "                async with asyncio.timeout(silent):",
        "                async with asyncio.timeout(None):",
        f"{FOLLOW}::test_a_silent_connection_is_given_up",
    ),
    Defect(
        "watch: an outage goes unseen",
        "services/kube_follow.py",
        "        self.failure = failure\n",
        "",
        f"{FOLLOW}::test_an_outage_is_a_loss_until_the_server_answers",
    ),
    Defect(
        "watch: a server that hangs is taken to be quiet",
        "services/collector/following.py",
        "            return asked, error\n",
        "            return None\n",
        "tests/cluster/test_following.py::test_a_server_that_hangs_is_noticed_although_its_watches_stay_open",
    ),
    Defect(
        "watch: metrics of before an outage are handed out in it",
        "services/collector/following.py",
        "            outdated = known.source.ok and self._unreachable and not self._others_metrics",
        "            outdated = False",
        "tests/cluster/test_following.py::test_metrics_of_before_an_outage_are_not_handed_out_in_it",
    ),
    Defect(
        "watch: the end of an outage is told as its beginning",
        "services/collector/reaction.py",
        "        if read.ok and since is not None:",
        "        if not read.ok and since is not None:",
        "tests/collector/test_service.py::test_a_source_is_told_when_it_is_lost_and_when_it_is_back",
    ),
    Defect(
        "watch: a restart forgets what was lost",
        "services/collector/service.py",
        "                    self._seen = LastTables(failing=self._failing_since)",
        "                    self._seen = LastTables()",
        "tests/collector/test_service.py::test_a_restart_in_an_outage_tells_its_end",
    ),
    Defect(
        "watch: a plan is made without what the plan before it wrote",
        "services/executor/followed_lists.py",
        '        if method != "GET" and "dryRun" not in (query or {}):',
        '        if method == "GET" and "dryRun" not in (query or {}):',
        "tests/executor/test_followed_lists.py::test_after_a_write_the_list_is_known_again_once_it_holds_it",
    ),
    Defect(
        "watch: in time lapse plans are dated by the clock of this machine",
        "services/executor/service.py",
        "    if settings.speed == 1.0 and isinstance(transport, WatchTransport):",
        "    if isinstance(transport, WatchTransport):",
        "tests/executor/test_followed_lists.py::test_lists_are_followed_in_real_time_alone",
    ),
    Defect(
        "watch: a plan is made with a list whose watch is lost",
        "services/executor/followed_lists.py",
        "        lost = followed.failure is not None or followed.may_not_watch",
        "        lost = followed.may_not_watch",
        "tests/executor/test_followed_lists.py::test_a_list_whose_watch_is_lost_is_asked_of_the_server",
    ),
    Defect(
        "metrics: a node without a sample of memory uses none",
        "services/collector/prometheus.py",
        "                **({MEMORY: str(round(memory[node]))} if node in memory else {}),",
        "                MEMORY: str(round(memory.get(node, 0))),",
        "tests/collector/test_prometheus.py::test_what_is_not_known_of_a_node_is_left_out",
    ),
    Defect(
        "metrics: a window counts as its shortest",
        "services/collector/node_rows.py",
        "    return max(map(parse_duration, windows), default=None)",
        "    return min(map(parse_duration, windows), default=None)",
        "tests/collector/test_signals.py::test_usage_says_how_many_seconds_it_covers",
    ),
    Defect(
        "metrics: a container without a measured time counts as measured now",
        "services/executor/pod_usage.py",
        "        for key in sorted(seconds.keys() & cores.keys() & memory.keys()):",
        "        for key in cores.keys() & memory.keys():\n            seconds.setdefault(key, 1e12)",
        "tests/executor/test_pod_usage.py::test_a_container_counts_with_both_amounts_and_a_time",
    ),
    Defect(
        "metrics: a measurement of power is believed however old it is",
        "services/collector/provenance.py",
        "            if name in known and now - at <= limit",
        "            if name in known",
        "tests/collector/test_measuring.py::test_nodes_without_a_fresh_measurement_are_modelled",
    ),
    Defect(
        "metrics: a price holds for its hour in UTC",
        "services/collector/energy_prices.py",
        "datetime.fromtimestamp(time_seconds, UTC).astimezone(ZoneInfo(self.time_zone))",
        "datetime.fromtimestamp(time_seconds, UTC)",
        "tests/collector/test_measuring.py::test_a_price_holds_for_its_hour_on_the_clock_on_the_wall",
    ),
    Defect(
        "metrics: requests are made up for a gap",
        "services/collector/request_counters.py",
        "seconds = min(max(0.0, time_seconds - last), rates.window_seconds)",
        "seconds = max(0.0, time_seconds - last)",
        "tests/collector/test_request_counters.py::test_nothing_is_made_up_for_a_gap",
    ),
    Defect(
        "doctor: a Prometheus whose nodes have other names is well",
        "foresail/prometheus_checks.py",
        "        if lacking and not purpose.optional:",
        "        if lacking and purpose.optional:",
        "tests/foresail/test_doctor_prometheus.py::test_nodes_that_do_not_join_are_named",
    ),
    Defect(
        "metrics: a range is asked for by our own clock",
        "services/prometheus.py",
        "        end = await self.time_seconds()",
        "        end = 0.0",
        "tests/collector/test_prometheus_queries.py::test_of_a_range_one_value_is_taken",
    ),
    Defect(
        "metrics: with a Prometheus, an API server that hangs is noticed late",
        "services/collector/following.py",
        "        silent = self._others_metrics or listed.source.reason is Reason.API_UNREACHABLE",
        "        silent = listed.source.reason is Reason.API_UNREACHABLE",
        "tests/collector/test_prometheus.py::test_an_api_server_that_hangs_is_noticed_by_its_version",
    ),
    Defect(
        "watch: attempts follow each other at once",
        "services/kube_follow.py",
        "        await self._clock.sleep(wait * self._random.uniform(1.0, 1.5))\n",
        "        await self._clock.sleep(0.01)\n",
        f"{FOLLOW}::test_an_outage_is_a_loss_until_the_server_answers",
    ),
)
