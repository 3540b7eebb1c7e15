"""Runs at any moment: stages, experiments with their intervals, searches with their best so far, sessions, policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bus.events import read_entry
from bus.item_errors import ItemErrors
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.recording import open_recording
from foresail.__main__ import main
from foresail.run_status import read_run
from projections.session_state import SessionState
from schemas.learned import LearnedChoice, OutcomeLearned
from schemas.model import EventData
from schemas.run import RunEffect, RunEvaluation, RunGate, RunStage, RunTrial
from schemas.session import (
    EndedTrial,
    JobChange,
    PlannedJob,
    SessionAdvanced,
    SessionClaimed,
    SessionEnded,
    SessionPlanned,
    SessionRay,
    SessionStudy,
    StudyObjective,
)
from services.dashboard.past import Past
from services.dashboard.run_book import RunBook
from tests import builders
from tests.dashboard.built_cycles import message_of
from tests.dashboard.test_past import asking, reading

ABOUT = {"run_id": "r", "process": "lab"}
SESSION = {"session": "s", "runner": "one", "sequence": 1}


def book_of(*data: EventData) -> dict[str, Any]:
    """Return what the page gets after some events."""
    book = RunBook()
    for one in data:
        book.add(builders.stamp_event(one))
    return book.as_json()


def study(*ended: tuple[int, str, float | None], direction: str = "minimize") -> SessionStudy:
    """Return how a search stands after some more trials, by number, state and value."""
    return SessionStudy(
        **SESSION, status="running", study="q", trials=9, completed_trials=len(ended), failed_trials=0,
        pruned_trials=0, objectives=(StudyObjective(figure="cost", direction=direction),),
        history=tuple(
            EndedTrial(
                trial=trial, run_trial=trial + 1, state=state, params={"x": trial},
                value=() if value is None else (value,),
            )
            for trial, state, value in ended
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("direction", "best", "new"),
    [("minimize", [5.0, 5.0, 4.0, 4.0], [0, 2]), ("maximize", [5.0, 7.0, 7.0, 7.0], [0, 1])],
)
def test_the_best_so_far_never_gets_worse(
    direction: str, best: list[float], new: list[int]
) -> None:
    """Whichever way is better; a trial that was given up early or failed is never the best."""
    told = book_of(
        study((0, "complete", 5.0), (1, "complete", 7.0), direction=direction),
        study((2, "complete", 4.0), (3, "pruned", 1.0 if direction == "minimize" else 9.0), direction=direction),
    )  # fmt: skip
    (search,) = told["searches"]

    assert [one["best"] for one in search["trials"]] == best
    assert [one["trial"] for one in search["new_bests"]] == new
    assert told["under_way"] == [{"name": "q", "done_ratio": 2 / 9, "text": "2 of 9 trials"}]


def test_a_plateau_is_said_after_more_than_three_trials() -> None:
    """Three completed trials without a better one are none yet; failed ones do not count."""
    first = (0, "complete", 1.0)
    worse = [(number, "complete", 2.0) for number in range(1, 5)]
    (three,) = book_of(study(first, *worse[:3], (9, "failed", None)))["searches"]
    (four,) = book_of(study(first, *worse))["searches"]

    assert (three["since_best"], three["plateau"]) == (3, False)
    assert (four["since_best"], four["plateau"]) == (4, True)


def test_trials_that_name_an_arm_are_an_experiments() -> None:
    """With the mean of each arm, its effects and the gate; others are those of a search."""
    effect = RunEffect(
        **ABOUT, experiment="e", arm="ours", reference="none", metric="price", unit="$", better="lower", pairs=2,
        arm_mean=1.0, reference_mean=1.5, difference=-0.5, low=-0.7, high=-0.3, confidence_ratio=0.95, verdict="helps",
    )  # fmt: skip
    told = book_of(
        RunTrial(**ABOUT, study="e", trial=1, value=2.0, parameters={"arm": "ours", "seed": 1}),
        RunTrial(**ABOUT, study="e", trial=2, value=4.0, parameters={"arm": "ours", "seed": 2}),
        RunTrial(**ABOUT, study="e", trial=3, value=None, parameters={"arm": "none", "seed": 1}),
        RunTrial(**ABOUT, study="weights", trial=0, value=1.0, parameters={"alpha": 0.5}),
        effect.model_copy(update={"verdict": "unclear"}),
        effect,
        RunGate(**ABOUT, judged="ours", kind="arm", experiment="e", passes=True, reasons=("so",)),
    )
    (experiment,), (search,) = told["experiments"], told["searches"]

    assert experiment["arms"] == [
        {"arm": "none", "trials": 0, "mean": None},
        {"arm": "ours", "trials": 2, "mean": 3.0},
    ]
    assert [one["verdict"] for one in experiment["effects"]] == ["helps"]
    assert experiment["gate"]["passes"]
    assert search["best"]["parameters"] == {"alpha": 0.5}


def test_a_session_says_how_its_jobs_stand_and_why_some_failed() -> None:
    """Counts by state add up to the total; the best has its configuration; Ray its size."""
    jobs = tuple(PlannedJob(job_id=name, config={"x": name}, output_json="o") for name in "abc")
    planned = SessionPlanned(**SESSION, payload={"kind": "command"}, total=3, jobs=jobs)
    claimed = SessionClaimed(**SESSION, engine="ray", host="h", limits={})
    advanced = SessionAdvanced(
        **SESSION,
        changes=(
            JobChange(job_id="a", state="succeeded", value=2.0),
            JobChange(job_id="b", state="failed", why="exit code 1", log_tail=("x",)),
        ),
    )
    ray = SessionRay(**SESSION, status="running", nodes=2, cpus=6)
    told = book_of(planned, claimed, advanced, ray)
    (session,) = told["sessions"]
    ended = SessionEnded(**SESSION, status="interrupted", counts={}, exit_code=1)
    over = book_of(planned, claimed, advanced, ended)

    assert session["status"] == "running"
    assert sum(session["states"].values()) == session["total"] == 3
    assert session["best"] == {"job_id": "a", "value": 2.0, "config": {"x": "a"}}
    assert [(one["job_id"], one["why"]) for one in session["failures"]] == [("b", "exit code 1")]
    assert session["ray"]["cpus"] == 6
    assert [one["text"] for one in told["under_way"]] == ["2 of 3 jobs"]
    assert over["under_way"] == []
    assert over["sessions"][0]["status"] == "interrupted"


def test_a_policy_has_its_curve_its_gate_and_what_it_does_now() -> None:
    """Choices are counted anew when another policy takes over."""
    choice = LearnedChoice(
        cycle=1, cluster_time_seconds=0.0, agent="admission", policy="old", weights_sha256="w", acts=False
    )  # fmt: skip
    told = book_of(
        RunEvaluation(**ABOUT, policy="p", seed=1, steps=10, value=1.0, better="higher"),
        RunEvaluation(**ABOUT, policy="p", seed=1, steps=20, value=2.0, better="higher"),
        RunGate(**ABOUT, judged="p", kind="policy", experiment="u", passes=False, reasons=("no",)),
        choice, choice, choice.model_copy(update={"policy": "p"}),
    )["policies"]  # fmt: skip

    assert [(one["steps"], one["values"]) for one in told["curves"]] == [([10, 20], [1.0, 2.0])]
    assert [one["reasons"] for one in told["gates"]] == [["no"]]
    assert [(one["policy"], one["choices"]) for one in told["live"]] == [("p", 1)]


async def test_choices_are_counted_at_any_moment_though_only_their_places_are_kept() -> None:
    """What the archive and the log say together is what the log says alone, for two agents of changing policies."""
    bus = MemoryBus(MemoryLog(), "test")
    events: list[EventData] = []
    for cycle in range(24):
        agent, policy = ("safety", "admission")[cycle % 2], ("p", "q", "p")[cycle // 9]
        about = {
            "cycle": cycle,
            "cluster_time_seconds": 0.0,
            "agent": agent,
            "policy": policy,
            "acts": False,
        }
        events.append(LearnedChoice(**about, weights_sha256="w"))
        scores = {"scored": cycle, "agreed": 0, "policy_total": 1.0, "rules_total": 2.0}
        events.append(
            OutcomeLearned(**about, **scores, same=True, policy_reward=0.5, rules_reward=0.0)
        )
    messages = [message_of(builders.stamp_event(one)) for one in events]
    await bus.publish(messages)
    last = (await bus.info()).last_seq
    past = Past(bus, messages[0].subject.split(".")[1], 10, ItemErrors("test"))
    from_log = [await past.runs(seq) for seq in range(last + 1)]
    await past.fill(lambda: last)

    assert past.whole
    assert [] == past.archive.run_events
    assert from_log == [await past.runs(seq) for seq in range(last + 1)]
    live = from_log[-1]["policies"]["live"]
    assert [("admission", "p", 3), ("safety", "p", 3)] == [
        (one["agent"], one["policy"], one["choices"]) for one in live
    ]


def test_a_stage_says_when_it_began_and_was_last_heard_of() -> None:
    """Also one that is begun again."""
    book = RunBook()
    for recorded, status in ((1, "started"), (5, "running"), (7, "started"), (9, "complete")):
        event = builders.stamp_event(RunStage(**ABOUT, stage="x", status=status))
        book.add(builders.as_stored(event, seq=recorded, recorded_ns=recorded * 1_000_000))
    (stage,) = book.as_json()["run"]["stages"]

    assert (stage["begun_ms"], stage["newest_ms"]) == (7, 9)


async def test_runs_are_those_of_the_moment() -> None:
    """As `/api/run` tells them, also after a later moment was asked for."""
    async with reading() as hub, asking(hub) as http:
        ended = (await http.get("/api/runs")).json()["run"]
        begun = (await http.get("/api/runs?at=60")).json()["run"]
        same = (await http.get("/api/run?at=60")).json()

    assert ended["status"] == "complete"
    assert begun["status"] is None is same["status"]
    assert begun["source"] is not None


def test_a_session_is_told_in_the_run_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`session run --run FILE`: the file holds the session as its own log has it, and opens like any recording."""
    monkeypatch.chdir(tmp_path)
    result = '{"metrics": {"score": 3}}'
    script = f"import sys; sys.exit('odd') if sys.argv[1] == '1' else open(sys.argv[2], 'w').write('{result}')"
    payload = {"kind": "command", "argv": ["{python}", "-c", script, "{config.x}", "{output_json}"]}
    Path("s.json").write_text(
        json.dumps({"payload": payload, "grids": [{"name": "x", "values": [1, 2]}]})
    )
    assert main(["session", "run", "--session-file", "s.json", "--run", "r.fslog"]) == 1
    capsys.readouterr()
    state, book = SessionState(), RunBook()
    for message in open_recording(Path("r.fslog")):
        event = read_entry(message).event
        assert event is not None
        state.add(event)
        book.add(event)

    assert (state.counts["succeeded"], state.counts["failed"]) == (1, 1)
    assert state.finished
    (session,) = book.as_json()["sessions"]
    assert session["failures"][0]["why"].startswith("exit code 1")
    assert read_run(Path("r.fslog")).complete is not None
