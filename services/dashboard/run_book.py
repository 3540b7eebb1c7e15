"""What the log tells of runs: stages and files, experiments, searches, tuning sessions, learned policies. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from projections.run_progress import RunProgress
from projections.session_state import SessionState
from schemas.envelope import Event
from schemas.learned import LearnedChoice, OutcomeLearned
from schemas.run import (
    RunComplete,
    RunData,
    RunDataSource,
    RunEffect,
    RunEvaluation,
    RunGate,
    RunStage,
    RunTrial,
)
from schemas.session import SessionCancelRequested, SessionData, SessionStudy
from schemas.switchback import OutcomeSwitchback, switchback_text
from services.dashboard.cycle_json import MILLISECOND_NS, Json
from services.dashboard.searches import TrialHistory

RUN_SUBJECTS = ("run.>", "learned.*", "outcome.learned", "outcome.switchback")

MOST_FILES = 500
MOST_FAILURES = 50
"""Jobs of a session that are told one by one."""


def tells_of_runs(tokens: tuple[str, ...]) -> bool:
    """Say whether a message, by the tokens of its subject, is one of `RUN_SUBJECTS`."""
    return tokens[0] in {"run", "learned"} or tokens in {
        ("outcome", "learned"),
        ("outcome", "switchback"),
    }


@dataclass(slots=True)
class RunBook:
    """Everything of runs up to the newest event that was given to `add`."""

    progress: RunProgress = field(default_factory=RunProgress)
    source: RunDataSource | None = None
    summary: Json = field(default_factory=dict)
    newest_ms: int = 0
    times: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each stage: when it began and when it was last heard of, ms."""
    trials: dict[str, list[RunTrial]] = field(default_factory=dict)
    """Of each experiment: its trials, in the order in which they ended."""
    effects: dict[str, dict[tuple[str, str], RunEffect]] = field(default_factory=dict)
    """Of each experiment: the newest effect by metric and arm."""
    gates: dict[tuple[str, str], RunGate] = field(default_factory=dict)
    """The newest answer by kind and who was judged."""
    searches: dict[str, TrialHistory] = field(default_factory=dict)
    """By study."""
    sessions: dict[str, SessionState] = field(default_factory=dict)
    curves: dict[tuple[str, int], list[RunEvaluation]] = field(default_factory=dict)
    """By policy and seed."""
    chosen: dict[str, LearnedChoice] = field(default_factory=dict)
    """The newest choice of a policy, by agent,"""
    choices: dict[str, int] = field(default_factory=dict)
    """how many there were of that policy,"""
    paid: dict[str, OutcomeLearned] = field(default_factory=dict)
    """and what it was worth so far."""
    switchback: OutcomeSwitchback | None = None

    def add(self, event: Event[Any]) -> None:
        """Take in an event; those of other kinds change nothing."""
        self.progress.add(event)
        match event.data:
            case SessionData() as data:
                self._add_session(event, data)
            case RunData() as data:
                self.newest_ms = event.recorded_ns // MILLISECOND_NS
                self._add_run(data)
            case LearnedChoice() as data:
                known = self.chosen.get(data.agent)
                same = known is not None and known.policy == data.policy
                self.choices[data.agent] = self.choices[data.agent] + 1 if same else 1
                self.chosen[data.agent] = data
            case OutcomeLearned() as data:
                self.paid[data.agent] = data
            case OutcomeSwitchback() as data:
                self.switchback = data
            case _:
                pass

    def as_json(self) -> Json:
        """Return everything, the newest sessions first."""
        return {
            "run": self._run(),
            "experiments": [self._experiment(name) for name in self._experiments()],
            "switchback": None
            if self.switchback is None
            else {
                **self.switchback.model_dump(mode="json"),
                "text": switchback_text(self.switchback),
            },
            "searches": [one.as_json() for one in reversed(self.searches.values())],
            "sessions": [_session(name, state) for name, state in reversed(self.sessions.items())],
            "policies": self._policies(),
            "under_way": self._under_way(),
        }

    def _add_session(self, event: Event[Any], data: SessionData) -> None:
        if isinstance(data, SessionStudy):
            self.searches.setdefault(data.study, TrialHistory(data.study)).add_study(data)
        elif not isinstance(data, SessionCancelRequested) or data.session in self.sessions:
            self.sessions.setdefault(data.session, SessionState()).add(event)

    def _add_run(self, data: RunData) -> None:
        match data:
            case RunStage():
                begun = self.times.get(data.stage, (self.newest_ms, 0))[0]
                begun = self.newest_ms if data.status == "started" else begun
                self.times[data.stage] = (begun, self.newest_ms)
            case RunDataSource():
                self.source = data
            case RunComplete():
                self.summary = data.summary
            case RunTrial() if "arm" in data.parameters:
                self.trials.setdefault(data.study, []).append(data)
            case RunTrial():
                self.searches.setdefault(data.study, TrialHistory(data.study)).add_trial(data)
            case RunEffect():
                of_experiment = self.effects.setdefault(data.experiment, {})
                of_experiment[data.metric, data.arm] = data
            case RunGate():
                self.gates[data.kind, data.judged] = data
            case RunEvaluation():
                self.curves.setdefault((data.policy, data.seed), []).append(data)
            case _:
                pass

    def _run(self) -> Json:
        told = self.progress.as_json()
        files = told["artifacts"]
        for stage in told["stages"]:
            stage["begun_ms"], stage["newest_ms"] = self.times[stage["stage"]]
        return {
            **told,
            "artifacts": files[-MOST_FILES:],
            "artifacts_total": len(files),
            "source": None if self.source is None else self.source.model_dump(mode="json"),
            "summary": self.summary,
            "newest_ms": self.newest_ms,
        }

    def _experiments(self) -> list[str]:
        judged = (gate.experiment for gate in self.gates.values() if gate.kind == "arm")
        return list(dict.fromkeys((*self.trials, *self.effects, *judged)))

    def _experiment(self, name: str) -> Json:
        by_arm: dict[str, list[float]] = {}
        for trial in self.trials.get(name, ()):
            values = by_arm.setdefault(str(trial.parameters["arm"]), [])
            values += [] if trial.value is None else [trial.value]
        gates = (gate for gate in self.gates.values() if gate.experiment == name)
        return {
            "name": name,
            "trials": len(self.trials.get(name, ())),
            "arms": [
                {"arm": arm, "trials": len(values), "mean": sum(values) / len(values) if values else None}
                for arm, values in sorted(by_arm.items())
            ],
            "effects": [one.model_dump(mode="json") for one in self.effects.get(name, {}).values()],
            "gate": next((gate.model_dump(mode="json") for gate in gates if gate.kind == "arm"), None),
        }  # fmt: skip

    def _policies(self) -> Json:
        return {
            "curves": [
                {
                    "policy": policy,
                    "seed": seed,
                    "better": points[-1].better,
                    "steps": [one.steps for one in points],
                    "values": [one.value for one in points],
                }
                for (policy, seed), points in self.curves.items()
            ],
            "gates": [
                gate.model_dump(mode="json")
                for gate in self.gates.values()
                if gate.kind == "policy"
            ],
            "live": [self._live(agent) for agent in sorted(self.chosen)],
        }

    def _live(self, agent: str) -> Json:
        choice, paid = self.chosen[agent], self.paid.get(agent)
        mine = paid if paid is not None and paid.policy == choice.policy else None
        return {
            "agent": agent,
            "policy": choice.policy,
            "acts": choice.acts,
            "cycle": choice.cycle,
            "line": choice.line(),
            "weights_sha256": choice.weights_sha256,
            "choices": self.choices[agent],
            "scored": 0 if mine is None else mine.scored,
            "agreed": 0 if mine is None else mine.agreed,
            "policy_total": None if mine is None else mine.policy_total,
            "rules_total": None if mine is None else mine.rules_total,
        }

    def _under_way(self) -> list[Json]:
        """Return what goes on at this moment beside the stack itself: how far, and of what."""
        ended = self.progress.complete is not None
        stages = () if ended else self.progress.stages.values()
        going = [
            {"name": one.stage, "done_ratio": one.progress_ratio, "text": one.detail}
            for one in stages
            if one.status in ("started", "running") and one.stage != "live"
        ]
        for name, state in self.sessions.items():
            if state.claimed is not None and state.ended is None and not state.finished:
                done = state.done
                ratio = done / state.total if state.total else 0.0
                going.append({"name": name, "done_ratio": ratio, "text": f"{done} of {state.total} jobs"})  # fmt: skip
        going += [
            {"name": one.study, "done_ratio": one.done_ratio, "text": one.text}
            for one in self.searches.values()
            if one.status == "running"
        ]
        return going


def _session(name: str, state: SessionState) -> Json:
    failures = state.failures()
    best = state.best(state.payload.get("direction", "maximize"))
    return {
        "session": name,
        "status": state.status,
        "kind": state.payload.get("kind"),
        "engine": None if state.claimed is None else state.claimed.engine,
        "host": None if state.claimed is None else state.claimed.host,
        "total": state.total,
        "states": state.counts,
        "best": None
        if best is None
        else {
            "job_id": best.job_id,
            "value": best.value,
            "config": state.planned[best.job_id].config if best.job_id in state.planned else {},
        },
        "failures": [one.model_dump(mode="json") for one in failures[:MOST_FAILURES]],
        "failures_total": len(failures),
        "trainings": [
            {"job_id": job_id, **change.training.model_dump(mode="json")}
            for job_id, change in state.jobs.items()
            if change.training is not None
        ],
        "ray": None if state.ray is None else state.ray.model_dump(mode="json"),
        "cancel": None if state.cancel is None else state.cancel.why or "asked for",
    }
