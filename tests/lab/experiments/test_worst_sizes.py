"""Fitted requests in worlds made to harm them: a leak, a rollout that doubles use, and an HPA."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from foresail.experiment.trial import run_trial
from lab.experiments.arms import Arm
from lab.experiments.spec import Trial, Workload, World
from schemas.actions import ResizeAction
from schemas.envelope import Event
from schemas.model import EventData
from schemas.outcome import OutcomeExecution

GIB = 1 << 30
HEAD = (
    "record,name,cpu_millicores,memory_bytes,time_seconds,kind,cpu_request_millicores,"
    "memory_request_bytes,replicas,usage_windows"
)
QUIET = "60000:0.2:0.3"
LEAK = ";".join(f"300:0.2:{0.2 + 0.06 * step:g}" for step in range(14))
"""From a fifth of the request to all of it within 70 minutes."""
ROLLOUT = "1800:0.2:0.3;60000:0.4:0.6"
MOST_CHANGES = 10
"""Of one workload in 70 minutes; a statement every five could change it fourteen times."""


def played(folder: Path, **arm: object) -> tuple[dict[str, float], dict[str, list[ResizeAction]]]:
    """Return metrics, and by workload the resizes that were done, of a small rented cluster."""
    uses = {"leak": LEAK, "rollout": ROLLOUT, **{f"quiet-{number}": QUIET for number in range(6)}}
    rows = [f"arrival,{name},,,0,service,2000,{4 * GIB},2,{use}" for name, use in uses.items()]
    file = folder / "worst.csv"
    file.write_text("\n".join([HEAD, f"node,n1,8000,{32 * GIB},,,,,,", *rows]) + "\n")
    done: defaultdict[str, list[ResizeAction]] = defaultdict(list)

    def listen(event: Event[EventData]) -> None:
        data = event.data
        if (
            isinstance(data, OutcomeExecution)
            and isinstance(data.action, ResizeAction)
            and data.succeeded
            and data.operations
        ):
            done[data.action.target.name.rpartition("/")[2]].append(data.action)

    settings = {"agents.value": {"right_size": True, "untouched_ratio": 0.0}}
    base = {"name": "fitted", "base": "karpenter+foresail"}
    fitted = Arm.model_validate({**base, "settings": settings, **arm})
    world = World(nodes=1, warm_up="15s", length="70m", cycle="60s", rented=True)
    trial = Trial(world, Workload(name="worst", plays=str(file)), fitted, 1)
    return run_trial(trial, "", None, listen).result.metrics, done


def test_a_leak_and_a_rollout_get_back_what_they_need(tmp_path: Path) -> None:
    """Nothing is killed, requests follow use upwards within two statements, and nothing flaps."""
    metrics, done = played(tmp_path)
    assert metrics["memory_kills"] == metrics["restarts"] == 0
    assert len(done) == 8, "every workload was fitted"
    changes = {name: len(actions) for name, actions in done.items()}
    assert max(changes.values()) <= MOST_CHANGES, changes
    leaked = [one.memory_request_bytes for one in done["leak"] if one.memory_request_bytes]
    assert leaked[0] < 2 * GIB
    assert leaked[-1] > 3.5 * GIB
    rolled = [one.memory_request_bytes for one in done["rollout"] if one.memory_request_bytes]
    assert rolled[0] < 2 * GIB < 0.6 * 4 * GIB < rolled[-1]
    assert all(count <= 4 for name, count in changes.items() if name.startswith("quiet")), changes


def test_where_an_hpa_scales_by_the_same_request_nothing_is_written(tmp_path: Path) -> None:
    """It stands aside as a whole: other requests would change the replicas."""
    _, done = played(tmp_path, autoscaling={"cpu_percent": 70})
    assert done == {}
