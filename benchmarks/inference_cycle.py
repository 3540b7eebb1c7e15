"""What a trained risk model costs: one cycle at 5,000 nodes, and its overhead over the bare library.

CPU seconds of this process, so that other work on the machine does not count. A cycle is what
inference does between the snapshot's arrival and its predictions: following placements and pods,
history, features, the model, node risks, the event. Targets: 50 ms a cycle at 5,000 nodes without
contributions; at 1,000 rows less than twice XGBoost's own `inplace_predict`.

    python -m benchmarks.inference_cycle [--nodes 5000] [--cycles 20] [--model small-risk]
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import xgboost

from benchmarks.machine import parser, progress, report
from benchmarks.scene import CLUSTER, INCARNATION, messages_of
from bus.events import event_of
from bus.port import StoredMessage
from schemas.envelope import Event
from schemas.identity import Origin
from schemas.model import EventData
from schemas.observation import Observation
from services.inference.booster import Matrix
from services.inference.risk_model import RiskModel, node_risks
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from services.inference.state import DEMAND, RISK
from services.model_directory import ModelDirectory, read_model
from services.model_folders import folder_of

ROWS = 1_000
REPEATS = 200
PODS_A_NODE = 3
TARGET_MS = 50.0
TARGET_RATIO = 2.0
MILLISECONDS = 1e3
LAYERS = ("snapshot", "observation")


def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument("--nodes", type=int, default=5_000, metavar="N", help="nodes of the cluster")
    flags.add_argument(
        "--cycles", type=int, default=20, metavar="N", help="cycles that are measured"
    )
    flags.add_argument("--model", default="small-risk", help="shipped name or folder")
    options = flags.parse_args()
    with progress(quiet=options.json) as shown:
        task = shown.add_task(f"{options.nodes} nodes", total=2 * options.cycles)
        recorded = messages_of(
            options.nodes, options.cycles, options.seed, lambda: shown.advance(task)
        )
        rows = cycle_rows(options.model, options.nodes, recorded, lambda: shown.advance(task))
    rows += overhead_rows(options.model, options.seed)
    report(f"inference with {options.model}, CPU time on one thread", options, rows)
    return 0


def cycle_rows(
    model: str, nodes: int, recorded: list[StoredMessage], tick: Callable[[], None]
) -> list[dict[str, object]]:
    """Return what each part of a cycle takes, medians over all but the first two cycles.

    The active demand is the formula's, as in the default; its time is told apart.
    """
    events = [_decode(message) for message in recorded if _layer(message) in LAYERS]
    origin = Origin(CLUSTER, INCARNATION)
    none = InferenceSettings(shadow_models=(), explain_targets=0)
    plain, formula = times(build(none, origin), events, DEMAND, lambda: None)
    handler = build(none.model_copy(update={"model": model}), origin)
    follow, predict = times(handler, events, RISK, tick)
    history = [
        max(0.0, with_model - other) for with_model, other in zip(follow, plain, strict=True)
    ]
    whole = [sum(pair) for pair in zip(history, predict, strict=True)]
    return [
        _row("observation unfolded", nodes, plain),
        _row("formula's demand", nodes, formula),
        _row("placements, pods, history", nodes, history),
        _row("features, model, event", nodes, predict),
        _row("trained model, both", nodes, whole, f"{TARGET_MS:g} ms", median(whole) <= TARGET_MS),
    ]


def times(
    handler: InferenceHandler, events: list[Event[EventData]], output: str, tick: Callable[[], None]
) -> tuple[list[float], list[float]]:
    """Return milliseconds of applying, and of deciding one output, for each cycle but the first two."""
    state, applying = handler.initial(), 0.0
    follow: list[float] = []
    predict: list[float] = []
    for event in events:
        begin = time.process_time()
        state = handler.evolve(state, event)
        applying += time.process_time() - begin
        if not isinstance(event.data, Observation):
            continue
        owing = state.model_copy(update={"owed": {output: state.owed[output]}})
        begin = time.process_time()
        new_events = handler.decide(owing, overdue=False)
        predict.append((time.process_time() - begin) * MILLISECONDS)
        assert len(new_events) == 1
        follow.append(applying * MILLISECONDS)
        applying = 0.0
        state = state.model_copy(update={"owed": {}})
        tick()
    return follow[2:], predict[2:]


def overhead_rows(model: str, seed: int) -> list[dict[str, object]]:
    """Return our way from rows to node risks beside the library's own call, at 1,000 rows."""
    directory = read_model(folder_of(model))
    matrix = _matrix(directory, seed)
    ours, manifest = RiskModel(directory), directory.manifest
    boosters = []
    for entry, raw in zip(manifest.boosters, directory.boosters, strict=True):
        if entry.horizon_seconds == ours.horizon_seconds:
            booster = xgboost.Booster({"nthread": 1})
            booster.load_model(bytearray(raw))
            boosters.append(booster)
    firsts = np.arange(0, ROWS, PODS_A_NODE)
    pods = np.ones(ROWS, dtype=np.int64)

    def bare() -> None:
        for booster in boosters:
            booster.inplace_predict(matrix)

    def whole() -> None:
        node_risks(firsts, pods, ours.probabilities(matrix))

    pairs = [(_seconds_of(bare), _seconds_of(whole)) for _ in range(REPEATS)]
    first, second = ([pair[place] for pair in pairs] for place in (0, 1))
    ratio = median(second) / median(first)
    return [
        _row("bare inplace_predict", ROWS, first),
        _row("rows to node risks", ROWS, second, f"{TARGET_RATIO:g}x bare", ratio < TARGET_RATIO),
        {**_row("ratio", ROWS, []), "median": f"{ratio:.2f}x"},
    ]


def _matrix(directory: ModelDirectory, seed: int) -> Matrix:
    dice = random.Random(seed)
    columns = len(directory.manifest.features)
    cells = [dice.choice((0.0, 1.0, dice.expovariate(0.01))) for _ in range(ROWS * columns)]
    return np.array(cells, dtype=np.float32).reshape(ROWS, columns)


def _seconds_of(call: Callable[[], None]) -> float:
    begin = time.process_time()
    call()
    return (time.process_time() - begin) * MILLISECONDS


def _row(
    part: str, size: int, values: list[float], target: str = "", met: bool | None = None
) -> dict[str, object]:
    return {
        "part": part,
        "nodes or rows": size,
        "median": f"{median(values):.2f} ms" if values else "",
        "worst": f"{max(values):.2f} ms" if values else "",
        "target": target,
        "met": "" if met is None else "yes" if met else "no",
    }


def _layer(message: StoredMessage) -> str:
    return message.subject.split(".")[2]


def _decode(message: StoredMessage) -> Event[EventData]:
    return event_of(message)


if __name__ == "__main__":
    sys.exit(main())
