"""Cost of one job of a session that does nothing: beside GNU parallel on this machine, and beside bare Ray.

Every job copies a small file, so that it has a result. What is bare does nothing else; a session also keeps each
job's beginning and end as events on a real nats-server, its log, its result's hash and its exit code.

    python -m benchmarks.session_overhead [--jobs 1000] [--engine local|ray] [--repeats 3]

Both are measured in turns, and the median of each is told. CPU time is that of every process that is started for
it; it depends less on what else a machine does than wall time.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil

from benchmarks.machine import parser
from bus.clock import SystemClock
from lab.sessions.attempts import JobStart
from lab.sessions.engines.local import LocalEngine
from lab.sessions.engines.port import Attempt, Engine
from lab.sessions.limits import Limits
from lab.sessions.payloads import CommandPayload
from lab.sessions.runner import SessionRunner
from lab.sessions.session_log import embedded_log
from schemas.session import PlannedJob

AT_A_TIME = os.cpu_count() or 1
WARM_UP = 8
SUPERVISOR = "lab.sessions.job_supervisor"
COPY = shutil.which("cp") or "cp"


def main() -> int:
    """Print milliseconds per job, and how many times the bare tool's."""
    given = parser(__doc__)
    given.add_argument("--jobs", type=int, default=1_000)
    given.add_argument("--repeats", type=int, default=1)
    given.add_argument("--engine", choices=("local", "ray"), default="local")
    arguments = given.parse_args()
    if arguments.engine == "local" and shutil.which("parallel") is None:
        sys.stderr.write("GNU parallel is not installed: apt-get install parallel\n")
        return 1
    bare = bare_parallel if arguments.engine == "local" else bare_ray
    with TemporaryDirectory() as name:
        result = Path(name) / "result.json"
        result.write_text(json.dumps({"status": "success", "metrics": {"score": 1}}))
        pairs: list[tuple[Cost, Cost]] = []
        for number in range(arguments.repeats):
            folder = Path(name) / str(number)
            folder.mkdir()
            theirs = bare(folder, result, arguments.jobs)
            ours = asyncio.run(session_cost(folder, result, arguments.jobs, arguments.engine))
            pairs.append((theirs, ours))
    tool = "GNU parallel" if arguments.engine == "local" else "bare Ray"
    found = {
        f"{what} {side}": round(median(getattr(pair[place], what) for pair in pairs), 2)
        for what in ("wall", "cpu")
        for place, side in enumerate((tool, "session"))
    }
    for what in ("wall", "cpu"):
        ratios = [getattr(ours, what) / getattr(theirs, what) for theirs, ours in pairs]
        found[f"{what} ratio"] = round(median(ratios), 2)
    if arguments.json:
        print(json.dumps(found))
    else:
        print(f"{arguments.jobs} jobs, {AT_A_TIME} at a time, ms per job: " + ", ".join(
            f"{name} {value}" for name, value in found.items()
        ))  # fmt: skip
    return 0


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds per job."""

    wall: float
    cpu: float


class Meter:
    """Time since it was made, and the CPU time of this process and of all below it."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), _cpu_seconds()

    def cost(self, jobs: int) -> Cost:
        """Return what was used since, for each of so many jobs."""
        wall, cpu = time.perf_counter() - self._wall, _cpu_seconds() - self._cpu
        return Cost(wall * 1e3 / jobs, cpu * 1e3 / jobs)


def _cpu_seconds() -> float:
    """Return the CPU time of this process, of all below it, and of the supervisors that have left their workers."""
    own = (psutil.Process(), *psutil.Process().children(recursive=True))
    left = (one for one in psutil.process_iter() if SUPERVISOR in _words(one) and one not in own)
    total = 0.0
    for process in (*own, *left):
        with suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])  # with children that have ended
    return total


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def bare_parallel(folder: Path, result: Path, jobs: int) -> Cost:
    """Return GNU parallel's cost."""
    (folder / "bare").mkdir()
    names = "\n".join(str(folder / "bare" / f"{number}.json") for number in range(jobs))
    command = ["parallel", "--will-cite", "-j", str(AT_A_TIME), COPY, str(result), "{}"]
    meter = Meter()
    subprocess.run(command, input=names, text=True, check=True)
    return meter.cost(jobs)


def bare_ray(folder: Path, result: Path, jobs: int) -> Cost:
    """Return the cost of a task of a Ray program that only runs the commands."""
    import ray  # noqa: PLC0415 - an extra

    ray.init("local", log_to_driver=False, configure_logging=False)
    (folder / "bare").mkdir()

    @ray.remote(num_cpus=1, max_retries=0)
    def copy(output: str) -> int:
        return subprocess.run([COPY, str(result), output], check=True).returncode

    ray.get([copy.remote(str(folder / "bare" / f"warm-{number}")) for number in range(WARM_UP)])
    meter = Meter()
    ray.get([copy.remote(str(folder / "bare" / f"{number}.json")) for number in range(jobs)])
    cost = meter.cost(jobs)
    ray.shutdown()
    return cost


async def session_cost(folder: Path, result: Path, jobs: int, kind: str) -> Cost:
    """Return a session's cost, from the first submission to the last event."""
    payload = CommandPayload(kind="command", argv=(COPY, str(result), "{output_json}"))
    planned = [
        PlannedJob(job_id=f"job_{number}", config={}, output_json=str(folder / "out" / f"{number}.json"))
        for number in range(jobs)
    ]  # fmt: skip
    clock = SystemClock()
    async with embedded_log(folder / "session", "bench", "r", clock) as (log, _):
        await log.plan(payload.model_dump(mode="json"), planned)
        engine, wide = _engine(kind, folder / "session")
        await engine.open()
        try:
            await _warm_up(engine, folder, result)
            state = await log.read()
            limits = Limits(max_parallel=wide)
            runner = SessionRunner(
                log, engine, state, payload, limits, clock, start=JobStart(sys.executable)
            )
            meter = Meter()
            code = await runner.run("here")
            cost = meter.cost(jobs)
        finally:
            await engine.close()
    assert code == 0, state.failures()[:1]
    return cost


async def _warm_up(engine: Engine, folder: Path, result: Path) -> None:
    """Let an engine start what it keeps; what is bare is warm, too."""
    endings = engine.watch()
    for number in range(WARM_UP):
        output = str(folder / "warm" / f"{number}.json")
        words = (COPY, str(result), engine.result_path(output))
        await engine.submit(Attempt(f"warm-{number}", 1, words, output, 60.0))
    for _ in range(WARM_UP):
        await anext(endings)


def _engine(kind: str, folder: Path) -> tuple[Engine, int]:
    if kind == "local":
        return LocalEngine(folder), AT_A_TIME
    from lab.sessions.engines.ray_tasks import RayEngine  # noqa: PLC0415 - an extra

    return RayEngine(None, folder, Path.cwd()), 1_000  # Ray itself keeps as many waiting


if __name__ == "__main__":
    sys.exit(main())
