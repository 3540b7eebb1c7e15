"""What-if with the simulated cluster as the plant: what the changed policy does has its effect.

From the recorded state of one cycle the twin runs on twice, once with the recorded settings and once
with the changed ones, on the same demand. Both sides of the result are simulated, so the difference
between them is the changes' own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import structlog
from pydantic import ValidationError

from bus.errors import ConfigError, InputError
from bus.recording import open_recording
from foresail.dependent_settings import fill_dependent
from foresail.settings import GROUPS, StackSettings
from foresail.stack.virtual import run_virtual_stack
from lab.rerun.changes import Changes
from lab.rerun.diff import diff
from lab.rerun.recorded_workload import RecordedWorkload, write_recorded_workload
from lab.rerun.what_if import Result
from schemas.agents import agent_names
from schemas.model import DataModel

CLOSED_LOOP = (
    "closed-loop: both sides ran in the simulated cluster, from the state of cycle {cycle} on, "
    "with executions switched to active"
)


@dataclass(frozen=True, slots=True)
class ClosedLoopStart:
    """Where a closed-loop run begins."""

    recording: Path
    cycle: int
    """0: the first."""
    seed: int


def closed_loop(
    recording: Path, changes: Changes, window_seconds: float, *, cycle: int = 0, seed: int = 7
) -> Result:
    """Run both sides and compare them.

    Args:
        recording: where the state, the demand and the settings come from.
        changes: by full setting name.
        window_seconds: an action undone within so many cluster seconds counts as churn.
        cycle: the cycle to start from; 0: the first.
        seed: of the simulation.

    Raises:
        InputError: the recording holds no settings or no snapshot of that cycle.
        ConfigError: a change does not fit.
    """
    start = ClosedLoopStart(recording, cycle, seed)
    settings_recorded = recorded_settings(recording)
    with TemporaryDirectory(prefix="foresail-plant-") as folder:
        plant = write_recorded_workload(start.recording, start.cycle, Path(folder) / "plant.jsonl")
        sides = {
            "baseline": _settings(
                settings_recorded, start, plant, {}, Path(folder) / "baseline.fslog"
            ),
            "changed": _settings(
                settings_recorded, start, plant, changes, Path(folder) / "changed.fslog"
            ),
        }
        with _quiet():
            for settings in sides.values():
                run_virtual_stack(settings, quiet=True)
        before, after = (Path(folder) / f"{name}.fslog" for name in sides)
        compared = diff(before, after, window_seconds)
    unchanged, changed = compared.sides
    return Result(
        file=start.recording.name,
        changes=dict(changes),
        rules=(),
        from_layer="cluster",
        baseline=unchanged.totals,
        changed=changed.totals,
        classes=compared.classes,
        listed=compared.listed,
        cycles=(plant.first_cycle, plant.first_cycle + plant.cycles),
        recorded_seconds=plant.cluster_seconds,
        damage=plant.damage,
        loop=CLOSED_LOOP.format(cycle=plant.first_cycle),
        notes=plant.notes,
        baseline_name="unchanged, simulated",
    )


def recorded_settings(path: Path) -> dict[str, Any]:
    """Return the stack's settings, from the header or from what the stack announced.

    Raises:
        InputError: the recording holds neither.
    """
    recording = open_recording(path)
    if isinstance(recording.header.get("settings"), dict):
        return dict(recording.header["settings"])
    for message in recording:
        if message.subject.endswith(".config.stack"):
            return dict(orjson.loads(message.data)["settings"])
    raise InputError(
        "recording", path, "it holds no settings of the stack; record from the log's beginning"
    )


def _settings(
    recorded: Mapping[str, Any],
    start: ClosedLoopStart,
    plant: RecordedWorkload,
    changes: Changes,
    record: Path,
) -> StackSettings:
    """Return the recorded stack's settings for a run on the plant, with changes."""
    speed = recorded.get("collector", {}).get("speed", 1.0)
    run = {
        "workload": str(plant.workload),
        "nodes": plant.nodes,
        "seed": start.seed,
        "speed": speed,
        "for_seconds": plant.cluster_seconds / speed,
        "exercise": False,
        "mode": "active",
        "virtual_time": True,
        "record": str(record),
        "scenario": None,
        "start_time": None,
        "weather": recorded.get("run", {}).get("weather", "off"),
        "kubeconfig": None,
    }
    groups = {name: dict(recorded.get(name, {})) for name in GROUPS}
    groups["run"] |= run
    groups["executor"]["mode"] = "active"
    for name, value in changes.items():
        _change(groups, name, value)
    requested = StackSettings(**{name: _group(name, groups[name]) for name in GROUPS})
    in_force = fill_dependent(requested)
    _check_in_force(changes, requested, in_force)
    return in_force


def _check_in_force(changes: Changes, requested: StackSettings, in_force: StackSettings) -> None:
    """Refuse a change that the run itself overrides.

    Raises:
        ConfigError: it would be listed as a change and change nothing.
    """
    for name, value in changes.items():
        group, _, field = name.partition(".")
        field = field.partition(".")[0]
        runs = getattr(in_force.groups[group], field)
        if getattr(requested.groups[group], field) != runs:
            remedy = f"leave it out: with --plant twin the run itself sets it, to {runs}"
            raise ConfigError("--set", f"{name}={value}", remedy)


def _change(groups: dict[str, dict[str, Any]], name: str, value: Any) -> None:
    group, _, field = name.partition(".")
    table, _, inner = field.partition(".")
    if inner and table in {*agent_names(), "value"}:
        groups[group][table] = {**groups[group].get(table, {}), inner: value}
        return
    if name in {"agents.profile", "agents.risk_model", "agents.demand_model"}:
        # Another profile or model brings thresholds of its own.
        for agent_name in agent_names():
            groups[group].pop(agent_name, None)
        groups[group].pop("model_thresholds", None)
    groups[group][field] = value


def _group(name: str, fields: Mapping[str, Any]) -> DataModel:
    kind = GROUPS[name]
    try:
        return kind.model_validate(
            {key: value for key, value in fields.items() if key in kind.model_fields}
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join((name, *(str(part) for part in first["loc"])))
        raise ConfigError(where, first["input"], first["msg"]) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the services' log lines off the screen: the result is what was asked for."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)
