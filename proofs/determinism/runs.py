"""One virtual run in a process of its own."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from proofs.determinism.environments import Environment
from proofs.determinism.interpreters import ROOT, Interpreter

RUN_SECONDS = 900.0
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")


class RunFailed(RuntimeError):
    """A run failed; the message holds its last lines of output."""


@dataclass(frozen=True, slots=True)
class RunCase:
    """What runs."""

    workload: str
    nodes: int
    seconds: float
    exercise: bool

    def flags(self, seed: int) -> str:
        """Return the flags of `foresail up`."""
        exercise = " --exercise" if self.exercise else ""
        return (
            f"--virtual-time --seed {seed} --workload {self.workload} --nodes {self.nodes}"
            f" --for {self.seconds:g}s{exercise}"
        )


CASES = (
    RunCase("openb", 60, 300.0, exercise=True),
    RunCase("openb", 30, 150.0, exercise=True),
    RunCase("google2011", 50, 200.0, exercise=False),
)


def record(
    root: Path, case: RunCase, seed: int, interpreter: Interpreter, environment: Environment
) -> Path:
    """Run the stack once and return its recording.

    Raises:
        RunFailed: the process ended with an error.
    """
    count = sum(1 for _ in root.iterdir())
    folder = root / f"{count}" / environment.folder
    folder.mkdir(parents=True)
    variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    command = [str(interpreter.path), *environment.flags, "-m", "foresail", "up"]
    ran = subprocess.run(
        [*command, *case.flags(seed).split(), "--record", "run.fslog"],
        cwd=folder,
        env={
            **variables,
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment.variables,
        },
        capture_output=True,
        text=True,
        errors="replace",
        timeout=RUN_SECONDS,
        check=False,
    )
    if ran.returncode != 0:
        lines = (ran.stdout + ran.stderr).strip().splitlines()
        raise RunFailed(f"{environment.name}, {case.flags(seed)}: {' | '.join(lines[-3:])}")
    return folder / "run.fslog"
