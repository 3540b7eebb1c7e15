"""When a Job is over, and how its status says so.

Since 1.31 a Job first shows SuccessCriteriaMet or FailureTarget, and Complete or Failed once its
last pod is gone (kubernetes/kubernetes pkg/controller/job/job_controller.go).
"""

from __future__ import annotations

from dataclasses import dataclass

from twin.controllers.conditions import remove_condition
from twin.controllers.job_counting import Tally, is_indexed, matched_rule, restarts_of
from twin.records import Object
from twin.timestamps import unix


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a Job ends."""

    complete: bool
    reason: str
    message: str

    def conditions(self, known: list[Object], now: str, *, final: bool) -> list[Object]:
        """Return the conditions with the interim one, and with the final one when `final`."""
        interim = "SuccessCriteriaMet" if self.complete else "FailureTarget"
        last = "Complete" if self.complete else "Failed"
        kinds = [interim, *([last] if final else [])]
        present = [entry["type"] for entry in known]
        return [*known, *(self._condition(kind, now) for kind in kinds if kind not in present)]

    def _condition(self, kind: str, now: str) -> Object:
        return {
            "type": kind,
            "status": "True",
            "lastProbeTime": now,
            "lastTransitionTime": now,
            "reason": self.reason,
            "message": self.message,
        }


def judge_job(spec: Object, status: Object, tally: Tally, now: float) -> JobEnd | None:
    """Return the verdict when the Job is over, its completions aside."""
    targeted = _earlier_verdict(status)
    if targeted is not None:
        return targeted
    if tally.fatal:
        return JobEnd(complete=False, reason="PodFailurePolicy", message=tally.fatal)
    if tally.failed > spec["backoffLimit"] or _restarted_too_often(spec, tally):
        text = "Job has reached the specified backoff limit"
        return JobEnd(complete=False, reason="BackoffLimitExceeded", message=text)
    limit, started = spec.get("activeDeadlineSeconds"), status.get("startTime")
    if limit is not None and started and not spec.get("suspend") and now - unix(started) >= limit:
        text = "Job was active longer than specified deadline"
        return JobEnd(complete=False, reason="DeadlineExceeded", message=text)
    return _judge_indexes(spec, tally) if is_indexed(spec) else None


def _restarted_too_often(spec: Object, tally: Tally) -> bool:
    """True when restarts within the pods of a Job have used up its limit."""
    policy = spec["template"]["spec"].get("restartPolicy")
    restarts, limit = restarts_of(tally), spec["backoffLimit"]
    return policy == "OnFailure" and restarts > 0 and restarts >= limit


def _judge_indexes(spec: Object, tally: Tally) -> JobEnd | None:
    lost, most = len(tally.failed_indexes), spec.get("maxFailedIndexes")
    if most is not None and lost > most:
        text = "Job has exceeded the specified maximal number of failed indexes"
        return JobEnd(complete=False, reason="MaxFailedIndexesExceeded", message=text)
    if lost and lost + len(tally.indexes) >= spec["completions"]:
        return JobEnd(complete=False, reason="FailedIndexes", message="Job has failed indexes")
    rule = matched_rule(spec, tally.indexes)
    return JobEnd(complete=True, reason="SuccessPolicy", message=rule) if rule else None


def judge_completions(spec: Object, succeeded: int, active: int) -> JobEnd | None:
    """Return the verdict when enough pods have succeeded."""
    wanted = spec.get("completions")
    enough = succeeded >= wanted if wanted is not None else succeeded > 0 and not active
    text = "Reached expected number of succeeded pods"
    return JobEnd(complete=True, reason="CompletionsReached", message=text) if enough else None


def is_finished(status: Object) -> bool:
    """True when a Job is complete or has failed."""
    return any(
        entry["type"] in ("Complete", "Failed") and entry["status"] == "True"
        for entry in status.get("conditions") or ()
    )


def is_succeeded(status: Object) -> bool:
    """True when a Job is complete."""
    return any(
        entry["type"] == "Complete" and entry["status"] == "True"
        for entry in status.get("conditions") or ()
    )


def finish_time(status: Object) -> float | None:
    """Return when a Job was over (unix seconds), None while it is not."""
    for entry in status.get("conditions") or ():
        if entry["type"] in ("Complete", "Failed") and entry["status"] == "True":
            return unix(entry["lastTransitionTime"])
    return None


def with_suspension(status: Object, *, truth: bool, now: str) -> bool:
    """Set the condition Suspended in `status`; False when it was so already."""
    known = status.get("conditions") or []
    if any(entry["type"] == "Suspended" and entry["status"] == str(truth) for entry in known):
        return False
    fresh = {
        "type": "Suspended",
        "status": str(truth),
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": "JobSuspended" if truth else "JobResumed",
        "message": "Job suspended" if truth else "Job resumed",
    }
    status["conditions"] = [*remove_condition(known, "Suspended"), fresh]
    return True


def _earlier_verdict(status: Object) -> JobEnd | None:
    """Return the verdict that was reached before and whose pods are not all gone yet."""
    for entry in status.get("conditions") or ():
        if entry["type"] in ("SuccessCriteriaMet", "FailureTarget"):
            complete = entry["type"] == "SuccessCriteriaMet"
            return JobEnd(complete=complete, reason=entry["reason"], message=entry["message"])
    return None
