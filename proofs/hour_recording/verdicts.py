"""`foresail verify` of one recording, in every environment and on every interpreter."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proofs.determinism.environments import ENVIRONMENTS, Environment
from proofs.determinism.interpreters import (
    ROOT,
    Interpreter,
    MissingInterpreter,
    other_interpreter,
    running_interpreter,
)
from proofs.row import ProofRow

VERSIONS = ("3.11", "3.13")
TIMES = 2
VERIFY_SECONDS = 1_800.0
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")


def verdicts(path: Path, part: str) -> Iterator[ProofRow]:
    """Verify twice in three environments on each interpreter; one row for each pair."""
    first: dict[str, Any] | None = None
    for version in VERSIONS:
        interpreter = (
            running_interpreter()
            if running_interpreter().version == version
            else other_interpreter(version)
        )
        if isinstance(interpreter, MissingInterpreter):
            yield ProofRow(part, f"verified on {interpreter}", TIMES, 0, "not tried")
            continue
        for environment in ENVIRONMENTS[:3]:
            reports = [verify(path, interpreter, environment) for _ in range(TIMES)]
            first = first or reports[0]
            held = sum(report["holds"] is True and report == first for report in reports)
            name = f"verified on {interpreter}, {environment.name}"
            yield ProofRow(part, name, TIMES, held, _describe_report(reports[0]))


def verify(path: Path, interpreter: Interpreter, environment: Environment) -> dict[str, Any]:
    """Run `foresail verify --json` in a process of its own; return its report."""
    folder = path.parent / environment.folder
    folder.mkdir(exist_ok=True)
    variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    command = [str(interpreter.path), *environment.flags, "-m", "foresail", "verify"]
    ran = subprocess.run(
        [*command, str(path.resolve()), "--json"],
        cwd=folder,
        env={**variables, **environment.variables, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=VERIFY_SECONDS,
        check=False,
    )
    try:
        report: dict[str, Any] = json.loads(ran.stdout)
    except ValueError:
        lines = ran.stderr.decode(errors="replace").strip().splitlines()
        return {"holds": False, "error": lines[-1] if lines else f"exit code {ran.returncode}"}
    return report


def _describe_report(report: dict[str, Any]) -> str:
    if "error" in report:
        return str(report["error"])
    alone = sum(layer["ungrounded"] for layer in report["layers"].values())
    text = f"{report['compared']} events compared, {alone} not"
    first = report["first_difference"]
    return text if first is None else f"{text}; differs at seq {first['seq']} {first['subject']}"
