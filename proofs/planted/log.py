"""Defects in how services write to the log and follow it."""

from __future__ import annotations

from proofs.planted.defect import Defect

LOG = (
    Defect(
        "no expectation on a subject's first message",
        "bus/nats_publish.py",
        "headers = {**message.headers, EXPECTED: str(expected[message.subject])}",
        "headers = dict(message.headers)\n"
        "            if expected[message.subject]:\n"
        "                headers[EXPECTED] = str(expected[message.subject])",
        "tests/bus/test_bus_contract.py::test_a_writer_that_believes_a_subject_empty_is_refused[nats-single]",
    ),
    Defect(
        "no expectation on a batch's first message",
        "bus/nats_wire.py",
        "if message.subject not in expected_subjects:",
        "if message.subject not in expected_subjects and expected[message.subject]:",
        "tests/bus/test_bus_contract.py::test_a_writer_that_believes_a_subject_empty_is_refused[nats-batch]",
    ),
    Defect(
        "the memory bus stores a first message anyhow",
        "bus/memory_adapter.py",
        "if self.newest_seq(message.subject) != seq:",
        "if seq and self.newest_seq(message.subject) != seq:",
        "tests/bus/test_bus_contract.py::test_a_writer_that_believes_a_subject_empty_is_refused[memory-single]",
    ),
    Defect(
        "a restore goes on behind the checkpoint itself",
        "bus/follow.py",
        "self._seq = data.folded_seq",
        "self._seq = stored.seq",
        "tests/bus/test_follow.py::test_a_restore_goes_on_exactly_behind_what_was_applied",
    ),
    Defect(
        "a restore handlers its last event again",
        "bus/follow.py",
        "self._seq = data.folded_seq",
        "self._seq = data.folded_seq - 1",
        "tests/bus/test_follow.py::test_a_restore_goes_on_exactly_behind_what_was_applied",
    ),
    Defect(
        "a service acts before it has read itself",
        "bus/follow.py",
        "return self._seq < self._publisher.newest_stored(self._patterns)",
        "return False",
        "tests/bus/test_follow.py::test_nothing_is_decided_or_done_before_own_events_are_read",
    ),
    Defect(
        "a service waits for events that it does not read",
        "bus/follow.py",
        "if matches_any(patterns, subject)",
        "if patterns",
        "tests/bus/test_follow.py::test_own_events_that_are_not_read_do_not_hold_a_service_up",
    ),
    Defect(
        "a service speaks while it catches up",
        "bus/follow.py",
        "                self._apply_message(message)\n        if tail",
        "                self._apply_message(message)\n                await self._step()\n        if tail",
        "tests/bus/test_follow.py::test_catching_up_is_silent_and_the_first_question_is_about_the_newest",
    ),
    Defect(
        "every message of an outage is acted on",
        "bus/follow.py",
        "                    if len(message.data) > LARGE_BYTES:",
        "                    await self._step()\n"
        "                    if len(message.data) > LARGE_BYTES:",
        "tests/bus/test_follow.py::test_after_an_outage_a_service_acts_on_the_newest_alone",
    ),
    Defect(
        "a cycle is overdue again and again",
        "bus/follow.py",
        "            self._overdue_cycle = cycle",
        "            self._overdue_cycle = None",
        "tests/bus/test_follow.py::test_a_cycle_that_stays_open_is_told_overdue_once",
    ),
    Defect(
        "a newer cycle inherits the deadline",
        "bus/follow.py",
        "elif self._opened is None or self._opened[0] != cycle",
        "elif self._opened is None",
        "tests/bus/test_follow.py::test_an_open_cycle_is_overdue_once_at_its_own_deadline",
    ),
    Defect(
        "every message moves the deadline",
        "bus/follow.py",
        "        elif self._opened is None or self._opened[0] != cycle:\n",
        "        else:\n",
        "tests/bus/test_follow.py::test_an_open_cycle_is_overdue_once_at_its_own_deadline",
    ),
    Defect(
        "a checkpoint of another form is taken",
        "bus/follow.py",
        " and data.state_version == self._handler.state_version",
        "",
        "tests/bus/test_follow.py::test_a_checkpoint_that_does_not_belong_here_is_ignored",
    ),
    Defect(
        "a checkpoint of another log is taken",
        "bus/follow.py",
        "data.folded_seq >= stored.seq",
        "data.folded_seq > stored.seq",
        "tests/bus/test_follow.py::test_a_checkpoint_that_does_not_belong_here_is_ignored",
    ),
    Defect(
        "a restored service stores a checkpoint at once",
        "bus/follow.py",
        "self._checkpoint_cycle = self._newest_cycle = data.cycle",
        "self._newest_cycle = data.cycle",
        "tests/bus/test_follow.py::test_a_restored_service_counts_on_to_its_next_checkpoint",
    ),
    Defect(
        "an old event turns the count of checkpoints back",
        "bus/follow.py",
        "self._newest_cycle = max(self._newest_cycle, event.cycle)",
        "self._newest_cycle = event.cycle",
        "tests/bus/test_follow.py::test_a_late_event_of_an_old_cycle_does_not_turn_the_count_back",
    ),
    Defect(
        "a log shorter than the checkpoint is followed",
        "bus/follow.py",
        "        if tail < self._seq:\n            raise LogWentBack(self._seq, tail)\n",
        "",
        "tests/bus/test_follow.py::test_a_log_shorter_than_the_checkpoint_stops_the_service",
    ),
    Defect(
        "effects come before what was decided is stored",
        "bus/follow.py",
        "        if new_events:\n"
        "            await self._publisher.publish(new_events)\n"
        "        if self._act is not None:\n"
        "            await self._act(self._state)\n",
        "        if self._act is not None:\n"
        "            await self._act(self._state)\n"
        "        if new_events:\n"
        "            await self._publisher.publish(new_events)\n",
        "tests/bus/test_follow.py::test_each_live_step_applies_publishes_then_acts",
    ),
    Defect(
        "an event is published as often as it is owed",
        "bus/follow.py",
        "event is first_of_id[event.id] and event.id not in self._published",
        "event is first_of_id[event.id]",
        "tests/bus/test_publisher.py::test_an_event_is_published_once_however_often_it_is_owed",
    ),
    Defect(
        "of two events of one identity the last counts",
        "bus/follow.py",
        "for event in reversed(events)}",
        "for event in events}",
        "tests/bus/test_publisher.py::test_of_two_events_of_one_identity_the_first_counts",
    ),
    Defect(
        "a snapshot's tables are stored one by one",
        "bus/follow.py",
        "event.correlation_id if isinstance(event.data, FramedData) else event.id",
        "event.id",
        "tests/bus/test_publisher.py::test_the_tables_of_one_cycle_go_as_one_batch_and_nothing_else_does",
    ),
    Defect(
        "a cancellation that is lost is not sent again",
        "bus/cancellation.py",
        "            task.cancel()\n        await asyncio.wait(pending, timeout=AGAIN_SECONDS)",
        "            task.cancel()\n        await asyncio.wait(pending)",
        "tests/bus/test_cancellation.py::test_a_service_that_lost_its_subject_ends_although_its_reader_is_deaf",
    ),
    Defect(
        "a log that grew again is published over",
        "bus/nats_publish.py",
        "        await check_unchanged(self._reads, self._link.read_before_loss)\n",
        "",
        "tests/bus/test_nats_writers.py::test_what_follows_from_a_lost_message_is_not_published_over_a_log_that_grew_again",
    ),
    Defect(
        "a feed that may lose messages does not ask for them",
        "bus/ordered_read.py",
        "(_next_live(feed) if loses else feed.get())",
        "feed.get()",
        "tests/bus/test_memory_log.py::test_a_feed_that_may_lose_something_asks_for_it",
    ),
)
