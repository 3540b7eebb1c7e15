"""`foresail session job`: what one job of a session does that is no command of its own; engines start it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.session.training_jobs import score_booster, train_policy
from inputs.limited_json import BadJson, load_json
from lab.rerun.changes import full_name, read_rules
from lab.rerun.what_if import what_if
from lab.sessions.arm_settings import arm_settings
from lab.sessions.payloads import (
    CommandPayload,
    ExperimentPayload,
    WhatIfPayload,
    read_payload,
)
from lab.sessions.training_payloads import BoosterPayload, PolicyPayload

EXAMPLES = (
    (
        """session job --payload '{"kind": "what-if", "recording": "run.fslog"}' --config '{}' --output-json r.json""",
        "one job alone, to see what it does",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--payload", required=True, metavar="JSON", help="what a job does")
    parser.add_argument("--config", required=True, metavar="JSON", help="the job's values by name")
    parser.add_argument("--output-json", required=True, metavar="FILE", help="the result")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Do the job and write its result; an error is a result, too.

    Raises:
        InputError: payload or config cannot be used, or the result cannot be written.
    """
    payload = read_payload("--payload", _json("--payload", arguments.payload))
    config = _json("--config", arguments.config)
    if not isinstance(config, dict):
        raise InputError("--config", arguments.config[:60], "give an object")
    result: dict[str, Any] = {"status": "success", "config": config}
    try:
        match payload:
            case WhatIfPayload():
                result |= _what_if(payload, config)
            case ExperimentPayload():
                result |= play_experiment(payload, config)
            case PolicyPayload():
                folder = Path(arguments.output_json).with_suffix(".training")
                result |= train_policy(payload, config, folder)
            case BoosterPayload():
                result |= score_booster(payload, config)
            case CommandPayload():
                raise InputError("--payload", payload.kind, "a command is started as it stands")
    except InputError as error:
        result |= {"status": "error", "error": str(error)}
        _write(Path(arguments.output_json), result)
        raise
    _write(Path(arguments.output_json), result)
    return ExitCode.GOOD if result["status"] == "success" else ExitCode.FAILED


def _what_if(payload: WhatIfPayload, config: Mapping[str, Any]) -> dict[str, Any]:
    rules = None if payload.rules is None else read_rules(Path(payload.rules))
    changes = {full_name(name): value for name, value in config.items()}
    window = payload.window_seconds
    found = what_if(Path(payload.recording), changes, rules, window_seconds=window)
    if found.compared == 0:
        return {"status": "error", "error": "no decision of the recording could be computed"}
    result = {"loop": found.loop, "compared": found.compared, "metrics": found.names()}
    return {**result, "damage": found.damage} if found.damage else result


def play_experiment(payload: ExperimentPayload, config: Mapping[str, Any]) -> dict[str, Any]:
    """Play an arm in every world of the split, and return the means of its metrics."""
    from foresail.experiment.trial import run_task  # noqa: PLC0415 - the whole stack
    from lab.experiments.arms import Arm  # noqa: PLC0415
    from lab.experiments.engine import Task  # noqa: PLC0415
    from lab.experiments.spec import read_experiment  # noqa: PLC0415

    experiment = read_experiment(Path(payload.file))
    settings = {name: value for name, value in config.items() if name != "arm"}
    base = str(config.get("arm", experiment.hypothesis.arm))
    known = {arm.name: arm for arm in experiment.arms}
    given: dict[str, Any] = (
        known[base].model_dump() if base in known else {"name": base, "base": base}
    )
    own = arm_settings(settings, known[base].settings if base in known else {})
    try:
        arm = Arm.model_validate({**given, "settings": own})
    except ValueError as error:
        raise InputError(
            "config", json.dumps(dict(config)), " ".join(str(error).split())
        ) from error
    count = payload.seeds or experiment.seeds.count
    seeds = experiment.seeds.model_copy(update={"count": count})
    few = experiment.model_copy(update={"seeds": seeds, "arms": (experiment.arms[0],)})
    played = [
        run_task(Task(replace(trial, arm=arm), "", None)).result
        for trial in few.trials(payload.split)
    ]
    names = set.intersection(*(set(one.metrics) for one in played))
    means = {name: fmean(one.metrics[name] for one in played) for name in sorted(names)}
    return {"arm": arm.name, "trials": len(played), "metrics": means}


def _json(flag: str, text: str) -> Any:
    try:
        return load_json(text)
    except BadJson as error:
        raise InputError(flag, text[:60], f"give JSON ({error})") from error


def _write(path: Path, result: Mapping[str, Any]) -> None:
    unfinished = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(result) + "\n", encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        remedy = f"give a file that can be written ({error.strerror})"
        raise InputError("--output-json", path, remedy) from error
