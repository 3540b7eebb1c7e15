"""CronJobs: when Jobs are started, and which are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.errors import ApiError

Object = dict[str, Any]
Build = Callable[..., Object]


def cron(template: Build, schedule: str = "* * * * *", work: str = "10", **spec: Any) -> Object:
    """Return the spec of a CronJob whose Jobs work for a time."""
    notes = {"foresail.dev/work-seconds": work}
    job = {"template": template("tick", notes=notes, restartPolicy="Never")}
    return {"schedule": schedule, "jobTemplate": {"spec": job}, **spec}


def jobs(cluster: Any) -> list[str]:
    """Return the names of the Jobs."""
    return [obj["metadata"]["name"] for obj in cluster.engine.store.list("jobs", "default")]


def test_a_job_a_minute_and_three_are_kept(cluster: Any, template: Build) -> None:
    """Names say the minute; of those that succeeded three stay, and the status tells both times."""
    cluster.create("cronjobs", "tick", cron(template))
    cluster.run(61)
    first = int(cluster.engine.now) // 60
    assert jobs(cluster) == [f"tick-{first}"]
    assert cluster.status("cronjobs", "tick")["active"][0]["name"] == f"tick-{first}"
    cluster.run(300)
    status = cluster.status("cronjobs", "tick")

    assert jobs(cluster) == [f"tick-{first + n}" for n in (2, 3, 4, 5)]
    assert status["lastScheduleTime"] == "2026-01-01T00:06:00Z"
    assert status["lastSuccessfulTime"] < status["lastScheduleTime"]
    assert {"SuccessfulCreate", "SawCompletedJob", "SuccessfulDelete"} <= set(
        cluster.reasons("tick")
    )


@pytest.mark.parametrize(("policy", "most", "reason"), [
    ("Allow", 3, "SuccessfulCreate"), ("Forbid", 1, "JobAlreadyActive"),
    ("Replace", 1, "SuccessfulDelete")])  # fmt: skip
def test_concurrency(cluster: Any, template: Build, policy: str, most: int, reason: str) -> None:
    """Jobs longer than the interval overlap, are skipped, or replace one another."""
    cluster.create("cronjobs", "tick", cron(template, work="150", concurrencyPolicy=policy))
    seen: list[int] = []

    def look() -> None:
        seen.append(len(cluster.status("cronjobs", "tick").get("active", [])))

    cluster.watch(400, look, every=5.0)

    assert max(seen) == most
    assert reason in cluster.reasons("tick")


def test_suspension_and_what_was_missed(cluster: Any, template: Build) -> None:
    """Nothing starts while suspended; afterwards only what the deadline still allows does."""
    spec = cron(template, "*/10 * * * *", suspend=True, startingDeadlineSeconds=60)
    cluster.create("cronjobs", "tick", spec)
    cluster.run(1_500)
    assert jobs(cluster) == []
    cluster.write("cronjobs", "tick", suspend=False)
    cluster.run(60)
    assert jobs(cluster) == []
    cluster.run(300)

    assert len(jobs(cluster)) == 1


def test_a_job_missed_without_deadline_starts_late(cluster: Any, template: Build) -> None:
    """Without startingDeadlineSeconds the newest missed time is made up for, once."""
    cluster.create("cronjobs", "tick", cron(template, "*/10 * * * *", suspend=True))
    cluster.run(1_500)
    cluster.write("cronjobs", "tick", suspend=False)
    cluster.run(60)

    assert jobs(cluster) == [f"tick-{(int(cluster.engine.now) // 60) // 10 * 10}"]


def test_deleting_takes_the_jobs(cluster: Any, template: Build) -> None:
    """Jobs belong to their CronJob and their pods to them."""
    cluster.create("cronjobs", "tick", cron(template))
    cluster.run(70)
    cluster.delete("cronjobs", "tick")
    cluster.run(60)

    assert (jobs(cluster), cluster.pods(deleting=True)) == ([], [])


@pytest.mark.parametrize(("field", "value", "text"), [
    ("schedule", "61 * * * *", "spec.schedule"), ("timeZone", "Mars/Phobos", "spec.timeZone"),
    ("concurrencyPolicy", "Maybe", "spec.concurrencyPolicy")])  # fmt: skip
def test_bad_specs_are_refused(
    cluster: Any, template: Build, field: str, value: str, text: str
) -> None:
    """422 names the field, as the API server does."""
    with pytest.raises(ApiError, match=text):
        cluster.create("cronjobs", "tick", {**cron(template), field: value})
