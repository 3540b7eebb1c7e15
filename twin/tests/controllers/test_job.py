"""Jobs: completion, failure policies, deadlines, suspension and what is cleaned up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.controllers.job_rules import indexes_text, missing_indexes
from twin.errors import ApiError

Object = dict[str, Any]
Build = Callable[..., Object]


def job(template: Build, work: str = "10", outcome: str = "succeed", **spec: Any) -> Object:
    """Return the spec of a Job."""
    notes = {"foresail.dev/work-seconds": work, "foresail.dev/outcome": outcome}
    return {"template": template("j", notes=notes, restartPolicy="Never"), **spec}


def last(cluster: Any) -> tuple[str, str]:
    """Return (type, reason) of the newest condition."""
    entry = cluster.status("jobs", "j")["conditions"][-1]
    return entry["type"], entry["reason"]


def test_an_indexed_job_runs_every_index_once(cluster: Any, template: Build) -> None:
    """Each index has its pod, name, environment and label; the status lists completed ones."""
    spec = job(template, completionMode="Indexed", completions=5, parallelism=2)
    cluster.create("jobs", "j", spec)
    running: list[list[str]] = []

    def look() -> None:
        key = "batch.kubernetes.io/job-completion-index"
        running.append([pod.labels[key] for pod in cluster.pods(app="j") if not pod.terminal])

    cluster.watch(60, look)

    assert all(len(set(now)) == len(now) <= 2 for now in running)
    assert sorted({index for now in running for index in now}) == ["0", "1", "2", "3", "4"]
    status = cluster.status("jobs", "j")
    assert (status["completedIndexes"], status["succeeded"]) == ("0-4", 5)
    assert last(cluster) == ("Complete", "CompletionsReached")
    pod = cluster.get("pods", cluster.pods(app="j")[3].name)
    assert pod["metadata"]["name"].startswith("j-3-")
    assert pod["spec"]["hostname"] == "j-3"
    assert pod["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"


def test_a_lost_index_is_run_again(cluster: Any, template: Build) -> None:
    """A pod that is deleted while it runs counts as failed, and its index comes back."""
    spec = job(template, work="30", completionMode="Indexed", completions=2, parallelism=2)
    cluster.create("jobs", "j", spec)
    cluster.run(10)
    cluster.delete("pods", cluster.pods(app="j")[0].name, grace_period_seconds=0)
    cluster.run(90)
    status = cluster.status("jobs", "j")

    assert (status["failed"], status["succeeded"]) == (1, 2)
    assert last(cluster)[0] == "Complete"


def test_what_succeeded_counts_though_it_is_gone(cluster: Any, template: Build) -> None:
    """Deleting a pod that had succeeded does not run its work again."""
    cluster.create("jobs", "j", job(template, completions=2, parallelism=1))
    cluster.run(16)
    done = [pod for pod in cluster.pods(app="j") if pod.phase == "Succeeded"]
    assert len(done) == 1
    cluster.delete("pods", done[0].name)
    cluster.run(60)

    assert cluster.status("jobs", "j")["succeeded"] == 2
    assert len(cluster.pods(app="j")) == 1


def test_fewer_at_once_is_no_failure(cluster: Any, template: Build) -> None:
    """Pods that the Job itself takes away when parallelism falls are not counted as failed."""
    spec = job(template, work="30", completions=6, parallelism=4, backoffLimit=0)
    cluster.create("jobs", "j", spec)
    cluster.run(10)
    cluster.write("jobs", "j", parallelism=1)
    cluster.run(400)

    assert last(cluster) == ("Complete", "CompletionsReached")
    assert "failed" not in cluster.status("jobs", "j")


def test_the_deadline_runs_from_the_start(cluster: Any, template: Build) -> None:
    """activeDeadlineSeconds counts from startTime, which a resumed Job gets anew."""
    spec = job(template, work="1000", activeDeadlineSeconds=60, suspend=True)
    cluster.create("jobs", "j", spec)
    cluster.run(100)
    assert cluster.conditions("jobs", "j") == {"Suspended": ("True", "JobSuspended")}
    assert cluster.pods() == []
    cluster.write("jobs", "j", suspend=False)
    cluster.run(50)
    assert cluster.status("jobs", "j")["active"] == 1
    assert cluster.conditions("jobs", "j")["Suspended"] == ("False", "JobResumed")
    cluster.run(30)

    assert last(cluster) == ("Failed", "DeadlineExceeded")
    assert cluster.conditions("jobs", "j")["FailureTarget"] == ("True", "DeadlineExceeded")
    assert cluster.pods() == []
    assert {"Suspended", "Resumed", "DeadlineExceeded"} <= set(cluster.reasons("j"))


def test_suspending_takes_the_pods_away(cluster: Any, template: Build) -> None:
    """A suspended Job has no pods, none of them counts as failed, and it runs on when resumed."""
    cluster.create("jobs", "j", job(template, work="40", parallelism=2, completions=2))
    cluster.run(20)
    cluster.write("jobs", "j", suspend=True)
    cluster.run(40)
    assert cluster.pods(deleting=True) == []
    cluster.write("jobs", "j", suspend=False)
    cluster.run(80)

    assert last(cluster) == ("Complete", "CompletionsReached")
    assert "failed" not in cluster.status("jobs", "j")


@pytest.mark.parametrize(("action", "reason", "failed"), [
    ("FailJob", "PodFailurePolicy", 1), ("Count", "BackoffLimitExceeded", 2)])  # fmt: skip
def test_exit_codes_decide(
    cluster: Any, template: Build, action: str, reason: str, failed: int
) -> None:
    """A FailJob rule ends the Job at the first such exit code, Count waits for the limit."""
    codes = {"operator": "In", "values": [1, 3]}
    policy = {"rules": [{"action": action, "onExitCodes": codes}]}
    spec = job(template, outcome="fail", backoffLimit=1, podFailurePolicy=policy)
    cluster.create("jobs", "j", spec)
    cluster.run(120)

    assert (last(cluster), cluster.status("jobs", "j")["failed"]) == (("Failed", reason), failed)
    if action == "FailJob":
        entry = cluster.status("jobs", "j")["conditions"][-1]
        assert "failed with exit code 1 matching FailJob rule at index 0" in entry["message"]


def test_disruptions_are_forgiven(cluster: Any, template: Build) -> None:
    """An evicted pod is replaced without being counted when the policy ignores disruptions."""
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [
        {"type": "DisruptionTarget", "status": "True"}]}]}  # fmt: skip
    spec = job(template, work="30", backoffLimit=0, podFailurePolicy=policy)
    cluster.create("jobs", "j", spec)
    cluster.run(10)
    cluster.engine.evict("default", cluster.pods()[0].name)
    cluster.run(90)

    assert last(cluster)[0] == "Complete"
    assert "failed" not in cluster.status("jobs", "j")


def test_finished_jobs_expire(cluster: Any, template: Build) -> None:
    """ttlSecondsAfterFinished deletes Job and pods, also when it is set after the end."""
    cluster.create("jobs", "j", job(template))
    cluster.run(40)
    assert last(cluster)[0] == "Complete"
    cluster.write("jobs", "j", ttlSecondsAfterFinished=100)
    cluster.run(40)
    assert cluster.engine.store.count("jobs") == 1
    cluster.run(60)

    assert (cluster.engine.store.count("jobs"), cluster.pods(deleting=True)) == (0, [])


def test_a_queue_may_place_a_suspended_job(cluster: Any, template: Build) -> None:
    """Kueue's way: nodeSelector and labels of a suspended, never started Job may change."""
    cluster.create("jobs", "j", job(template, suspend=True))
    cluster.run(5)
    placed = {**cluster.get("jobs", "j")["spec"]["template"]}
    placed["spec"] = {**placed["spec"], "nodeSelector": {"kubernetes.io/hostname": "n2"}}
    cluster.write("jobs", "j", template=placed, suspend=False)
    cluster.run(10)
    assert cluster.pods(app="j")[0].node_name == "n2"
    placed["spec"] = {**placed["spec"], "nodeSelector": {"kubernetes.io/hostname": "n1"}}

    with pytest.raises(ApiError, match="field is immutable"):
        cluster.write("jobs", "j", template=placed)


@pytest.mark.parametrize(
    ("indexes", "text"), [([], ""), ([3], "3"), ([0, 1, 2, 5], "0-2,5"), ([4, 5, 7], "4,5,7")]
)
def test_indexes_are_written_as_the_api_does(indexes: list[int], text: str) -> None:
    """Runs of three or more become ranges."""
    assert indexes_text(indexes) == text


def test_missing_indexes_are_the_lowest() -> None:
    """Completed and running indexes are left out, and never more than asked for are returned."""
    assert missing_indexes(6, [0, 2], 2) == [1, 3]
    assert missing_indexes(3, [0, 1, 2], 5) == []
