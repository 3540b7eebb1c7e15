"""Sessions of made-up jobs, run by the real runner on any engine; the log is in memory unless a test kills it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bus.clock import SystemClock
from bus.memory_adapter import MemoryBus, MemoryLog
from lab.sessions.attempts import JobStart
from lab.sessions.engines.port import Engine
from lab.sessions.jobs_file import refuse_collisions
from lab.sessions.limits import Limits
from lab.sessions.payloads import CommandPayload
from lab.sessions.runner import SessionRunner
from lab.sessions.session_log import CLUSTER, SessionLog
from projections.session_state import SessionState
from schemas.identity import Origin
from schemas.session import PlannedJob

SCRIPT = """
import json, os, subprocess, sys, time
config, output = json.loads(sys.argv[1]), sys.argv[2]
do = config.get("do", "succeed")
with open(config["diary"], "a") as diary:
    diary.write(f"{os.environ.get('JOB_ID')} {do}\\n")
if do == "hang":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    print("hanging", child.pid, flush=True)
    time.sleep(300)
time.sleep(config.get("seconds", 0))
if do == "fail" or (do == "fail-once" and open(config["diary"]).read().count(os.environ["JOB_ID"]) < 2):
    print("first line"); sys.exit("it went wrong")
if do == "nothing":
    sys.exit(0)
result = {"status": "success", "config": config, "metrics": {"score": config.get("score", 1)}}
if "training" in config:
    result["training"] = config["training"]
text = {"text": "no json", "list": "[1]", "large": " " * (17 << 20)}.get(do, json.dumps(result))
if do == "megabyte":
    text = json.dumps({**result, "more": os.urandom(500_000).hex()})
os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
open(output, "w").write(text)
with open(config["diary"], "a") as diary:
    diary.write(f"{os.environ.get('JOB_ID')} done\\n")
"""
"""Does what `do` says, and writes into a diary that it began, and that it ended well."""

OpenEngine = Callable[[str, Path], AbstractAsyncContextManager[Engine]]
"""Makes an engine for the session of that name, which keeps its files in a folder."""


def payload_of(python: str) -> CommandPayload:
    """Return the payload of the made-up jobs."""
    argv = (python, "-c", SCRIPT, "{config}", "{output_json}")
    return CommandPayload(kind="command", argv=argv)


@dataclass
class Harness:
    """Runs sessions on one engine."""

    kind: str
    folder: Path
    open_engine: OpenEngine
    python: str = sys.executable
    session: str = "try"
    prefix: str = "job"
    """How job ids begin."""
    bus_log: MemoryLog = field(default_factory=lambda: MemoryLog(wall_ns=SystemClock().wall_ns))

    @property
    def diary(self) -> Path:
        """What the jobs themselves say of their beginning and end."""
        return self.folder / "diary"

    def lines(self) -> list[str]:
        """Return the diary's lines."""
        return self.diary.read_text().splitlines() if self.diary.exists() else []

    def begun(self) -> Counter[str]:
        """Return how often each job has begun."""
        return Counter(line.split()[0] for line in self.lines() if not line.endswith("done"))

    def ended_well(self) -> set[str]:
        """Return the jobs whose processes ended with 0, as the supervisor kept it.

        What a job itself says comes a moment earlier, and one that is killed in between has not succeeded.
        """
        ended = [json.loads(path.read_text()) for path in self.folder.rglob("ended/*.json")]
        names = {one["ended"].rsplit("-", 1)[0] for one in ended if one["code"] == 0}
        return {name.replace("-", "_") for name in names}

    def jobs(self, configs: Iterable[Mapping[str, Any]]) -> tuple[PlannedJob, ...]:
        """Return a job for each configuration, numbered."""
        return tuple(
            PlannedJob(
                job_id=f"{self.prefix}_{number:04d}",
                config={"diary": str(self.diary), **config},
                output_json=str(self.folder / "out" / f"{self.prefix}_{number:04d}.json"),
            )
            for number, config in enumerate(configs, start=1)
        )

    @asynccontextmanager
    async def log(self, runner: str = "r1") -> AsyncIterator[SessionLog]:
        """Connect to the log."""
        bus = MemoryBus(self.bus_log, CLUSTER)
        try:
            yield SessionLog(
                bus, Origin(CLUSTER, self.session), self.session, runner, SystemClock()
            )
        finally:
            await bus.close()

    async def run(
        self, jobs: Iterable[PlannedJob], runner: str = "r1", **limits: Any
    ) -> tuple[SessionState, int]:
        """Plan jobs unless the log knows some, run them, and return state and exit code."""
        async with self.log(runner) as log:
            state = await log.read()
            if not state.whole:
                await log.plan(payload_of("{python}").model_dump(), refuse_collisions(list(jobs)))
                state = await log.read()
            async with self.open_engine(self.session, self.folder / "session") as engine:
                session_runner = SessionRunner(
                    log, engine, state, payload_of("{python}"), Limits(**limits), SystemClock(),
                    start=JobStart(self.python),
                )  # fmt: skip
                code = await session_runner.run("here")
            async with self.log("reader") as reader:
                assert (await reader.read()).jobs == state.jobs  # what was stored is what is said
            return state, code


def states(state: SessionState) -> dict[str, str]:
    """Return the state of each job."""
    return {job_id: change.state for job_id, change in state.jobs.items()}


def alive(text: str) -> list[int]:
    """Return the processes whose command line has this text, ours aside."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            status = (entry / "stat").read_text().rsplit(")", 1)[-1].split()[0]
            if int(entry.name) != os.getpid() and text in words and status != "Z":
                found.append(int(entry.name))
    return found


def until_nobody(text: str) -> None:
    """Wait until no process has this text in its command line."""
    for _ in range(100):
        if not alive(text):
            return
        time.sleep(0.1)
    assert alive(text) == []
