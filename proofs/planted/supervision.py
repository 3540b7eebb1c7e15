"""Defects in who is replaced for being frozen, and in a log that several servers keep."""

from __future__ import annotations

from proofs.planted.defect import Defect

DETECTOR = "tests/bus/test_failure_detector.py"
FROZEN = "tests/stack/test_frozen.py"
HANG = "tests/bus/test_hang_watch.py"
REPLICAS = "tests/bus/test_replicas.py"
RESULTS = "tests/faults/test_results.py"

SUPERVISION = (
    Defect(
        "a process that never answered is killed for it",
        "bus/failure_detector.py",
        "return self._heard and self.seconds >= limit",
        "return self.seconds >= limit",
        f"{DETECTOR}::test_a_process_that_starts_has_time",
    ),
    Defect(
        "a process that freezes before it is heard stays for ever",
        "foresail/stack/liveness.py",
        "        return SILENT\n",
        "        return None\n",
        f"{FROZEN}::test_a_process_that_froze_before_it_was_heard_is_killed_after_the_start_grace",
    ),
    Defect(
        "a machine that slept has frozen processes",
        "bus/failure_detector.py",
        "max(0.0, elapsed_seconds - delayed_seconds) if on_time else 0.0",
        "elapsed_seconds - delayed_seconds",
        f"{DETECTOR}::test_nobody_is_frozen_after_the_listener_was_away",
    ),
    Defect(
        "an answering thread hides a hanging loop",
        "bus/failure_detector.py",
        "min(self.seconds, max(0.0, report.loop_age_seconds))",
        "0.0",
        f"{DETECTOR}::test_a_loop_that_does_not_turn_is_silence_although_a_thread_answers",
    ),
    Defect(
        "no grace at the start",
        "bus/failure_detector.py",
        "limit = self._patience_seconds if self._ready else START_SECONDS",
        "limit = self._patience_seconds",
        f"{DETECTOR}::test_a_process_that_starts_has_time",
    ),
    Defect(
        "another process on the port answers for a frozen one",
        "foresail/stack/liveness.py",
        'if answer["pid"] != pid:',
        'if answer["pid"] is None:',
        f"{FROZEN}::test_only_the_process_itself_answers_for_itself",
    ),
    Defect(
        "a process that starts anew inherits its predecessor's silence",
        "foresail/stack/keeper.py",
        "                pid, detector = process.pid, FailureDetector(self._patience_seconds)\n",
        "                pid = process.pid\n",
        f"{FROZEN}::test_silence_is_answered_once_and_said",
    ),
    Defect(
        "a frozen process waits like one that crashed",
        "foresail/stack/restarts.py",
        "        if at_once:\n            return 0.0\n",
        "",
        f"{FROZEN}::test_a_frozen_process_is_started_again_at_once",
    ),
    Defect(
        "a process that freezes at every start is started again without pause",
        "foresail/stack/restarts.py",
        "at_once = end.frozen and (settled or not self._replaced)",
        "at_once = end.frozen",
        f"{FROZEN}::test_a_frozen_process_is_started_again_at_once",
    ),
    Defect(
        "a hanging loop ends nobody",
        "bus/hang_watch.py",
        "if detector.frozen:",
        "if detector.frozen and ready is None:",
        f"{HANG}::test_a_deadlocked_loop_ends_its_process_and_says_where",
    ),
    Defect(
        "a hang ends without showing where",
        "bus/hang_watch.py",
        "    faulthandler.dump_traceback(file=sys.__stderr__ or 2, all_threads=True)\n",
        "",
        f"{HANG}::test_a_deadlocked_loop_ends_its_process_and_says_where",
    ),
    Defect(
        "what a follower has not got yet counts as read",
        "bus/replica_reads.py",
        "        elif log.last_seq < next_seq:\n",
        "        elif log.last_seq >= next_seq:\n",
        f"{REPLICAS}::test_what_a_follower_has_not_got_yet_is_no_hole",
    ),
    Defect(
        "a leader that is cut off is believed",
        "bus/replica_reads.py",
        "2 * (1 + len(near)) > 1 + len(replicas)",
        "len(near) <= len(replicas)",
        f"{REPLICAS}::test_only_a_leader_that_hears_the_others_is_believed",
    ),
    Defect(
        "an own message in flight is taken for another writer's",
        "bus/nats_publish.py",
        "        if in_flight and all(\n",
        "        if not in_flight and all(\n",
        f"{REPLICAS}::test_a_refusal_while_nothing_newer_is_stored_is_waited_out",
    ),
    Defect(
        "a log without a leader ends its writers",
        "bus/nats_wire.py",
        "TEMPORARY = frozenset({10004, 10008, 10009, 10158, 10163, 10167})",
        "TEMPORARY = frozenset({10004})",
        f"{REPLICAS}::test_a_log_without_a_leader_is_waited_for",
    ),
    Defect(
        "a finished stack of kills is forgotten",
        "proofs/faults/__init__.py",
        "        results.add(key, run())\n",
        "        results.found[key] = run()\n",
        f"{RESULTS}::test_an_interrupted_run_of_kills_counts_all",
    ),
)
