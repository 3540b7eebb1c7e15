"""Defects in what keeps a week: rolling recordings, a bucket of them, and sums of days."""

from __future__ import annotations

from proofs.planted.defect import Defect

ROLLING = "tests/recorder/test_rolling.py"
BUCKET = "tests/recorder/test_bucket.py"
REPORTS = "tests/recorder/test_reports.py"
DAYS = "tests/rollup/test_days.py"

RECORDER: tuple[Defect, ...] = (
    Defect(
        "the recorder goes on one event too far",
        "services/recorder/service.py",
        "                    return last.seq + 1",
        "                    return last.seq + 2",
        f"{ROLLING}::test_a_killed_recorder_goes_on_where_it_was",
    ),
    Defect(
        "a log of the same name is taken for the one that was recorded",
        "services/recorder/service.py",
        "if message.time_ns == last.time_ns:",
        "if message.seq == last.seq:",
        f"{ROLLING}::test_a_log_of_the_same_name_is_recorded_from_its_beginning",
    ),
    Defect(
        "what was only a copy in the bucket counts as stored before it is",
        "services/recorder/retention.py",
        "if file.safe and now_seconds",
        "if now_seconds",
        f"{BUCKET}::test_old_recordings_go_but_none_that_is_only_here",
    ),
    Defect(
        "a file behind the wanted time is read",
        "foresail/report_sources.py",
        "return part.rolled and min(later, default=self.from_ns + 1) <= self.from_ns",
        "return False",
        f"{REPORTS}::test_rolled_recordings_say_what_the_whole_says",
    ),
    Defect(
        "a day counts again what it holds",
        "projections/activity_days.py",
        "if seq <= self.last_seqs.get(day, 0):",
        "if seq < self.last_seqs.get(day, 0):",
        f"{DAYS}::test_it_goes_on_from_what_is_stored",
    ),
    Defect(
        "a new day forgets what the day before began",
        "projections/activity_days.py",
        "            activity.unverified |= self.days[before].unverified\n",
        "",
        f"{DAYS}::test_what_was_done_before_midnight_is_verified_after_it",
    ),
    Defect(
        "the recorder of an installation has somebody else's login",
        "deploy/helm/foresail/templates/recorder.yaml",
        "key: recorder.env",
        "key: operator.env",
        "tests/install/test_manifests.py::test_the_recorder_is_the_same_by_component_and_by_value",
    ),
)
