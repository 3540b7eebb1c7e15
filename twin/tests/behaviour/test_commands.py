"""Pods last what their command says, where it can be read, and end as it says."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.behaviour.commands import CommandBehaviour, course_of
from twin.engine import Engine
from twin.intake import pod_shape
from twin.records import PodRecord
from twin.workloads.arrival import NodeShape

GIB = 2**30
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"


def course(*commands: list[str], **fields: Any) -> CommandBehaviour | None:
    """Return the course of a pod with one container for each command."""
    containers = [
        {"name": f"c{number}", "image": "busybox", "command": command, **fields}
        for number, command in enumerate(commands)
    ]
    spec = {"containers": containers, "restartPolicy": "Never", "priority": 0}
    return course_of(pod_shape({**spec, "terminationGracePeriodSeconds": 30}))


@pytest.mark.parametrize(
    ("command", "seconds", "code"),
    [
        (["sleep", "30"], 30.0, 0),
        (["/bin/sleep", "1.5m"], 90.0, 0),
        (["sleep", "1h", "2s"], 3_602.0, 0),
        (["sleep", "infinity"], math.inf, 0),
        (["sh", "-c", "sleep 30"], 30.0, 0),
        (["/bin/bash", "-c", "echo 'a; b'; sleep 3 && sleep 4"], 7.0, 0),
        (["sh", "-c", "sleep 3; exit 2; sleep 9"], 3.0, 2),
        (["sh", "-c", "false && sleep 9; sleep 1"], 1.0, 0),
        (["sh", "-c", "false || sleep 9"], 9.0, 0),
        (["sh", "-ec", "sleep 2; false; sleep 9"], 2.0, 1),
        (["sh", "-c", "echo hi\nsleep 5\n"], 5.0, 0),
        (["true"], 0.0, 0),
        (["false"], 0.0, 1),
    ],
)
def test_what_takes_a_known_time_is_read(command: list[str], seconds: float, code: int) -> None:
    """Sleeps add up, what joins commands counts, and the last one gives the exit code."""
    assert course(command) == CommandBehaviour(seconds, code)


@pytest.mark.parametrize(
    "command",
    [
        ["perl", "-Mbignum=bpi", "-wle", "print bpi(2000)"],
        ["sleep"],
        ["sleep", "soon"],
        ["sh", "-c", "sleep $TIME"],
        ["sh", "-c", "while true; do sleep 5; done"],
        ["sh", "-c", "sleep 5 | cat"],
        ["sh", "-c", "sleep 5 & wait"],
        ["sh", "-c", "(sleep 5)"],
        ["sh", "-c", "sleep 5 'open"],
        ["sh", "script.sh"],
        ["sh", "-c", "exit lots"],
        ["sh", "-c", "sleep 1;" * 5_000],
    ],
)
def test_everything_else_is_unknown(command: list[str]) -> None:
    """Programs, loops, pipes and variables are not guessed."""
    assert course(command) is None


def test_variables_that_the_spec_says_are_followed() -> None:
    """`env` counts, in both spellings; what is quoted, or not said, is not guessed."""
    env = [{"name": "N", "value": "3"}]
    assert course(["sh", "-c", "sleep $N; exit ${N}"], env=env) == CommandBehaviour(3.0, 3)
    assert course(["sh", "-c", "sleep '$N'"], env=env) is None
    assert course(["sh", "-c", "sleep $M"], env=env) is None


def test_a_pod_lasts_as_long_as_its_longest_container() -> None:
    """Of two containers the longer decides; one that is unknown makes the pod unknown."""
    assert course(["sleep", "3"], ["sleep", "5"]) == CommandBehaviour(5.0)
    assert course(["sleep", "3"], ["server"]) is None
    assert course(["sh"], args=["-c", "sleep 8"]) == CommandBehaviour(8.0)


def job(name: str, *command: str, **annotations: str) -> dict[str, Any]:
    """Return what `kubectl create job NAME --image=busybox -- COMMAND` sends."""
    container: dict[str, Any] = {"name": name, "image": "busybox"}
    if command:
        container["command"] = list(command)
    notes = {f"foresail.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
    template = {
        "metadata": {"annotations": notes},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {"metadata": {"name": name}, "spec": {"backoffLimit": 0, "template": template}}


def run(body: dict[str, Any]) -> tuple[float, int]:
    """Create a Job through the API and return its container's seconds and exit code."""
    engine = Engine(seed=1)
    engine.add_nodes([NodeShape("n0", 4_000, 8 * GIB, 0, {})])
    router = Router(engine)
    data = json.dumps(body).encode()
    answer = router.handle(Request("POST", JOBS, {}, {"content-type": "application/json"}, data))
    assert isinstance(answer, Response)
    assert answer.status == 201
    engine.advance(engine.now + 500.0)
    (record,) = engine.store.records("pods")
    assert isinstance(record, PodRecord)
    assert record.ended is not None
    pod = engine.store.get("pods", "default", record.name)
    state = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    return record.ended.finished_at - record.ended.started_at, state["exitCode"]


def test_a_job_of_a_user_lasts_what_its_command_says() -> None:
    """`sleep 30` is 30 s; the annotation has the last word; what nobody knows takes a minute."""
    assert run(job("a", "sleep", "30")) == (pytest.approx(30.0, abs=1e-3), 0)
    assert run(job("b", "sh", "-c", "sleep 200 && exit 3")) == (pytest.approx(200.0, abs=1e-3), 3)
    assert run(job("c", "sleep", "30", work_seconds="45")) == (pytest.approx(45.0, abs=1e-3), 0)
    assert run(job("d", "sleep", "30", outcome="fail")) == (pytest.approx(30.0, abs=1e-3), 1)
    assert run(job("e", "pi", "2000")) == (pytest.approx(60.0, abs=1e-3), 0)


def test_a_service_that_only_sleeps_is_started_again() -> None:
    """`sleep 20` of a pod with restartPolicy Always ends and runs again, as on a kubelet."""
    engine = Engine(seed=1)
    engine.add_nodes([NodeShape("n0", 4_000, 8 * GIB, 0, {})])
    container = {"name": "c", "image": "busybox", "command": ["sleep", "20"]}
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [container]}}
    engine.store.create("pods", "default", pod)
    engine.advance(engine.now + 60.0)
    (record,) = engine.store.records("pods")

    assert isinstance(record, PodRecord)
    assert record.restart_count >= 1
