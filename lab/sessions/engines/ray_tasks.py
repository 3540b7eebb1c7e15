"""Runs the jobs of a session as tasks of a Ray cluster, or of this machine alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from lab.experiments.engine import connect_ray
from lab.sessions.engines.ending_files import EndingFiles
from lab.sessions.engines.port import (
    Attempt,
    Ending,
    NoResult,
    environment_of,
    make_room,
    read_result_file,
)
from lab.sessions.engines.ray_worker import RESULT, RayJob, RayOutcome, run_ray_job, write_result


class RayEngine:
    """A Ray task an attempt; the workers have the same code installed."""

    name = "ray"
    keeps_deadlines = True

    def __init__(self, address: str | None, folder: Path, working_folder: Path) -> None:
        """Use the cluster at `address` (None: one of this machine); jobs run in `working_folder` where it is there."""
        self._address = address
        self._folder = folder
        self._working_folder = working_folder
        self._known = EndingFiles(folder)
        self._earlier: frozenset[str] = frozenset()
        self._ray: Any = None
        self._remote: Any = None
        self._references: dict[str, Any] = {}
        self._problems: dict[str, str] = {}
        self._endings: asyncio.Queue[Ending] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    def result_path(self, output_json: str) -> str:
        """Return what stands for the file that the worker chooses."""
        del output_json
        return RESULT

    async def open(self) -> None:
        """Connect; raises InputError where Ray is not installed or does not answer."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._earlier = self._known.names()
        self._ray = await asyncio.to_thread(connect_ray, self._address)
        self._remote = self._ray.remote(num_cpus=1, max_retries=0)(run_ray_job)

    @property
    def size(self) -> tuple[int, int]:
        """Nodes that are alive, and their CPUs together; once it is open."""
        nodes = sum(node["Alive"] for node in self._ray.nodes())
        return nodes, int(self._ray.cluster_resources().get("CPU", 0))

    async def submit(self, attempt: Attempt) -> str:
        """Hand a job to Ray, or out how it ended under an earlier runner; see `Engine.submit`."""
        known = self._known.find(attempt.name) if attempt.name in self._earlier else None
        if known is not None:
            self._endings.put_nowait(known)
            return attempt.name
        make_room(Path(attempt.output_json))
        job = RayJob(
            name=attempt.name,
            words=attempt.words,
            environment=environment_of(attempt),
            timeout_seconds=attempt.timeout_seconds,
            output_json=attempt.output_json,
            working_folder=str(self._working_folder),
            session_folder=str(self._folder.absolute()),
        )
        reference = self._remote.remote(job)
        self._references[attempt.name] = reference
        task = asyncio.get_running_loop().create_task(self._follow(attempt, reference))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return str(reference.hex())

    async def watch(self) -> AsyncIterator[Ending]:
        """Yield attempts as they end; see `Engine.watch`."""
        while True:
            yield await self._endings.get()

    async def cancel(self, attempt: Attempt) -> None:
        """Cancel the task; its worker ends the job's processes, and its ending follows."""
        reference = self._references.get(attempt.name)
        if reference is not None:
            self._ray.cancel(reference, force=False)

    async def collect(self, attempt: Attempt) -> bytes:
        """Return the result, which came back with the ending; see `Engine.collect`."""
        problem = self._problems.pop(attempt.name, "")
        if problem:
            raise NoResult(problem)
        return read_result_file(Path(attempt.output_json))

    async def close(self) -> None:
        """Cancel what still runs, and leave the cluster; one of this machine alone ends."""
        if self._ray is None:
            return
        for reference in self._references.values():
            self._ray.cancel(reference, force=False)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=10.0)
        await asyncio.to_thread(self._ray.shutdown)

    async def _follow(self, attempt: Attempt, reference: Any) -> None:
        try:
            outcome: RayOutcome = await asyncio.wrap_future(reference.future())
        except self._ray.exceptions.RayError as error:
            why = " ".join(str(error).split())[:300]
            self._endings.put_nowait(Ending(attempt.name, None, reason=why))
            return
        finally:
            self._references.pop(attempt.name, None)
        problem = outcome.problem
        if outcome.result is not None and not outcome.kept:
            # The worker does not see this folder: it is on another machine.
            try:
                write_result(Path(attempt.output_json), outcome.result)
                self._known.write(outcome.ending)
            except OSError as error:
                problem = f"{attempt.output_json}: {error.strerror}"
        if problem:
            self._problems[attempt.name] = problem
        self._endings.put_nowait(outcome.ending)
