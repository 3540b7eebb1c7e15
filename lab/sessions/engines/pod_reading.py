"""What the objects of the API say about an attempt: pure readings of Jobs, pods and logs."""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lab.sessions.engines.pod_script import MARKER
from lab.sessions.engines.port import RESULT_BYTES, NoResult

HOPELESS = frozenset(
    {
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
    }
)
"""Reasons why a container waits that waiting does not mend."""
DEADLINE = "DeadlineExceeded"


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """A Job has ended."""

    succeeded: bool
    reason: str
    message: str
    seconds: float


@dataclass(frozen=True, slots=True)
class PodEnd:
    """The container of a pod has ended, or will never start."""

    pod: str
    exit_code: int | None
    """None: it never started."""
    reason: str
    message: str
    """Its termination message."""


def job_verdict(job: Mapping[str, Any]) -> JobVerdict | None:
    """Return how a Job ended; None while it has not."""
    status = job.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in {"Complete", "Failed"}:
            return JobVerdict(
                condition["type"] == "Complete",
                str(condition.get("reason") or ""),
                str(condition.get("message") or ""),
                _seconds_between(status.get("startTime"), condition.get("lastTransitionTime")),
            )
    return None


def pod_end(pod: Mapping[str, Any]) -> PodEnd | None:
    """Return how a pod's container ended, or why it never will start; None while it may."""
    name = str(pod["metadata"]["name"])
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if ended is not None:
            code = int(ended.get("exitCode", 1))
            reason, message = str(ended.get("reason") or ""), str(ended.get("message") or "")
            return PodEnd(name, code, reason, message)
        if waiting is not None and waiting.get("reason") in HOPELESS:
            why = f"{waiting['reason']}: {waiting.get('message') or 'no more is said'}"
            return PodEnd(name, None, why, "")
    return None


def is_running(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod's container runs now."""
    containers = (pod.get("status") or {}).get("containerStatuses") or ()
    return any((container.get("state") or {}).get("running") for container in containers)


def read_message(message: str) -> dict[str, Any]:
    """Return what `pod_script` left as the termination message.

    Raises:
        NoResult: it is not there or not readable, or tells of a problem.
    """
    try:
        told = json.loads(message)
    except ValueError as error:
        raise NoResult("its container left no result behind") from error
    if not isinstance(told, dict) or "problem" in told or "sha256" not in told:
        problem = told.get("problem") if isinstance(told, dict) else None
        raise NoResult(str(problem or "its container left no result behind"))
    return told


def result_in_message(told: Mapping[str, Any]) -> bytes:
    """Return the result that a termination message holds; raises NoResult."""
    return _checked(str(told["gzip"]), str(told["sha256"]))


def result_in_log(told: Mapping[str, Any], log: str) -> bytes:
    """Return the result that a log holds in pieces.

    Raises:
        NoResult: pieces are missing, or it is not what was sent.
    """
    if not log:
        raise NoResult("its pod's log is gone, and its result with it")
    head = f"{MARKER} {told['sha256']} "
    pieces: dict[int, str] = {}
    for line in log.splitlines():
        place = line.find(head)
        if place >= 0:
            number, _, text = line[place + len(head) :].partition(" ")
            pieces[int(number.partition("/")[0])] = text
    wanted = int(told["pieces"])
    missing = [number for number in range(1, wanted + 1) if number not in pieces]
    if missing:
        raise NoResult(f"{len(missing)} of {wanted} pieces of its result are not in the pod's log")
    text = "".join(pieces[number] for number in range(1, wanted + 1))
    return _checked(text, str(told["sha256"]))


def _checked(text: str, sha256: str) -> bytes:
    try:
        reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        data = reader.decompress(base64.b64decode(text, validate=True), RESULT_BYTES + 1)
    except (binascii.Error, zlib.error, gzip.BadGzipFile) as error:
        raise NoResult(f"its result came back damaged ({error})") from error
    if len(data) > RESULT_BYTES or hashlib.sha256(data).hexdigest() != sha256:
        raise NoResult("its result came back as something else than was sent")
    return data


def without_markers(log: str) -> str:
    """Return a log without the pieces of results."""
    return "\n".join(line for line in log.splitlines() if not line.startswith(MARKER))


def _seconds_between(begin: object, end: object) -> float:
    try:
        return (_time(end) - _time(begin)).total_seconds()
    except (TypeError, ValueError):
        return 0.0


def _time(value: object) -> datetime:
    return datetime.fromisoformat(str(value))
