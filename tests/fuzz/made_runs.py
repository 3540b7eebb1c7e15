"""Events of runs and tuning sessions, which a short run of the stack makes none of."""

from __future__ import annotations

from schemas.run import (
    RunArtifact,
    RunEffect,
    RunError,
    RunEvaluation,
    RunGate,
    RunManifest,
    RunTrial,
)
from schemas.session import (
    JobChange,
    PlannedJob,
    SessionAdvanced,
    SessionCancelRequested,
    SessionClaimed,
    SessionEnded,
    SessionPlanned,
    SessionRay,
    SessionStudy,
)

_RUN = {"run_id": "r", "process": "lab"}
_EFFECT = {
    "experiment": "e",
    "arm": "ours",
    "reference": "none",
    "metric": "price",
    "unit": "$",
    "better": "lower",
}
_MEANS = {
    "pairs": 2,
    "arm_mean": 1.0,
    "reference_mean": 1.5,
    "difference": -0.5,
    "low": None,
    "high": None,
}
OF_RUN = (
    RunArtifact(**_RUN, label="model", file_name="m.json", kind="model"),
    RunManifest(**_RUN, arguments=("verify", "f"), code_version="c", python="3.11.7"),
    RunTrial(**_RUN, study="s", trial=1, value=0.5, parameters={"depth": 3, "list": [1.5]}),
    RunError(**_RUN, text="it broke"),
    RunEffect(**_RUN, **_EFFECT, **_MEANS, confidence_ratio=0.95, verdict="too few"),
    RunEvaluation(**_RUN, policy="ppo", seed=1, steps=5_000, value=-2.5, better="higher"),
    RunGate(**_RUN, judged="ppo", kind="policy", experiment="u", passes=False, reasons=("no",)),
)

_SESSION = {"session": "s", "runner": "r", "sequence": 1}
OF_SESSION = (
    SessionPlanned(
        **_SESSION,
        payload={"kind": "command"},
        total=1,
        jobs=(PlannedJob(job_id="j", config={"x": 0}, output_json="o.json"),),
    ),
    SessionClaimed(**_SESSION, engine="local", host="h", limits={"max_parallel": 4}),
    SessionAdvanced(**_SESSION, changes=(JobChange(job_id="j", state="failed", log_tail=("x",)),)),
    SessionEnded(**_SESSION, status="complete", counts={"failed": 1}, exit_code=1),
    SessionCancelRequested(**_SESSION, why="enough"),
    SessionRay(**_SESSION, status="complete", nodes=2, cpus=6, train_iters=8, reward_mean=-1.5),
    SessionStudy(
        **_SESSION, status="running", study="s", trials=2, completed_trials=1, failed_trials=0,
        pruned_trials=0, trial=0, best_score=(1.5,), best_params={"x": 1},
    ),
)  # fmt: skip
