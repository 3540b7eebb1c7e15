"""One trap, played: the stack of `foresail up --virtual-time` on its world, beside the untouched world."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import structlog

from foresail.settings import StackSettings, resolve
from foresail.stack.virtual import run_virtual_stack
from lab.traps.results import PlayedTrap, answer
from lab.traps.trap import MINUTE, Trap
from lab.traps.trap_log import TrapLog
from schemas.envelope import Event
from schemas.model import EventData
from schemas.outcome import Mode


@dataclass(frozen=True, slots=True)
class TrapFiles:
    """A trap's world and script, as a user would give them."""

    workload: Path
    scenario: Path | None


def play_trap(
    trap: Trap, profile: str, machines_folder: Path, recording: Path | None = None
) -> PlayedTrap:
    """Play a trap to its end and return what its checks measured; nothing of the machine's surroundings counts.

    Args:
        trap: what is played.
        profile: the agents' policies.
        machines_folder: where the trap's file of machines lies.
        recording: where the sealed log is kept; None: it is not.

    Raises:
        InputError: the trap's world, a fault or the profile cannot be used.
    """
    log = TrapLog()
    play_log(trap, profile, machines_folder, log.take, recording)
    return answer(trap, profile, log)


def play_log(
    trap: Trap,
    profile: str,
    machines_folder: Path,
    listener: Callable[[Event[EventData]], None],
    recording: Path | None = None,
) -> None:
    """Play a trap to its end, and hand each event of its log to `listener`.

    Raises:
        InputError: the trap's world, a fault or the profile cannot be used.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with TemporaryDirectory(prefix="foresail-trap-") as folder:
        files = _write_files(trap, Path(folder))
        settings = trap_settings(trap, profile, files, machines_folder, recording)
        run_virtual_stack(settings, quiet=True, listener=listener)


def trap_settings(
    trap: Trap,
    profile: str,
    files: TrapFiles,
    machines_folder: Path,
    recording: Path | None = None,
) -> StackSettings:
    """Return the stack's settings.

    Raises:
        ConfigError: there is no such profile.
    """
    run: dict[str, Any] = {
        "workload": str(files.workload),
        "scenario": None if files.scenario is None else str(files.scenario),
        "nodes": trap.nodes,
        "seed": trap.seed,
        "speed": 1.0,
        "interval_seconds": trap.cycle_seconds,
        "for_seconds": trap.minutes * MINUTE,
        "virtual_time": True,
        "record": None if recording is None else str(recording),
        "mode": Mode.ACTIVE.value,
        "weather": trap.weather,
        "provisioner": trap.provisioner,
        "machines": str(machines_folder / trap.machines) if trap.machines else None,
    }
    flags = {f"run.{name}": value for name, value in run.items()}
    return resolve(None, {}, {**flags, "agents.profile": profile})


def _write_files(trap: Trap, folder: Path) -> TrapFiles:
    workload, scenario = folder / "world.jsonl", folder / "script.yaml"
    workload.write_text(trap.workload_text(), encoding="utf-8")
    if not trap.faults:
        return TrapFiles(workload, None)
    scenario.write_text(trap.scenario_text(), encoding="utf-8")
    return TrapFiles(workload, scenario)
