"""Keeps a session of processes for each container that runs in the simulated cluster and is local.

The engine decides when a container starts and what becomes of its pod; the runner starts its processes and
says how they ended, as a request that the journal keeps. So a restarted twin comes to the same state without
running anything again; what was running when it was killed has ended with 137.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from twin.behaviour.pod_work import is_local
from twin.changes import Change
from twin.engine import Engine
from twin.local_pods.command import CannotStart, Launch, launch_of
from twin.local_pods.limits import ProcessLimits, memory_of_sessions
from twin.local_pods.log_file import LogFile
from twin.local_pods.process import (
    KILLED,
    START_ERROR,
    ContainerExit,
    ContainerProcess,
    installation,
)
from twin.records import Object, PodRecord
from twin.render.pod import render_pod
from twin.store import Store

LOOK_SECONDS = 0.5
"""Wall seconds between two looks at the memory of all containers."""
_NEVER_STARTED = ContainerExit(KILLED, "Error", "it was to end before its command had begun")
Report = Callable[[str, int, ContainerExit], None]
"""(pod uid, restarts of its container, how that run ended)"""
Kubeconfig = Callable[[PodRecord], bytes | None]


@dataclass(slots=True, eq=False)
class PodRun:
    """The processes of one run of a pod's containers."""

    uid: str
    restarts: int
    node: str
    folder: Path
    containers: dict[str, ContainerProcess] = field(default_factory=dict)
    logs: dict[str, LogFile] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None
    terminating: bool = False
    forgotten: bool = False  # nobody wants to know any more how it ends


class Runner:
    """Runs the local pods of one engine."""

    def __init__(
        self,
        engine: Engine,
        folder: Path,
        limits: ProcessLimits,
        report: Report,
        kubeconfig: Kubeconfig,
        surroundings: Mapping[str, str],
    ) -> None:
        """Keep files and logs below `folder`, which is emptied; `surroundings` are variables of every process."""
        self.config = engine.config
        self._engine = engine
        self._folder = folder
        self._limits = limits
        self._report = report
        self._kubeconfig = kubeconfig
        self._surroundings = surroundings
        self._runs: dict[str, PodRun] = {}
        self._previous: dict[str, PodRun] = {}
        self._turns = asyncio.Semaphore(limits.pods)
        self._ending: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Run what is to run until cancelled; then nothing is left of it."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        stop = self._engine.store.subscribe(self._follow)
        try:
            self._report_lost()
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                self._look()
        finally:
            stop()
            await self._end_all()

    def log_of(self, pod: PodRecord, container: str, *, previous: bool) -> LogFile | None:
        """Return the log of a container's newest run, or of the one before it."""
        run = (self._previous if previous else self._runs).get(pod.uid)
        return None if run is None else run.logs.get(container)

    # ---- what the cluster says

    def _report_lost(self) -> None:
        """Say of what ran before this process that it has ended."""
        for pod in list(self._engine.world.pods.values()):
            if pod.container_state == "running" and is_local(pod, self._engine.config):
                self._report(pod.uid, pod.restart_count, ContainerExit(KILLED, "Error", ""))

    def _follow(self, change: Change) -> None:
        pod = change.record
        if not isinstance(pod, PodRecord) or not is_local(pod, self._engine.config):
            return
        run = self._runs.get(pod.uid)
        if change.type == "DELETED":
            self._forget(pod.uid)
        elif pod.container_state == "running":
            if run is None or run.restarts != pod.restart_count:
                self._begin(pod)
            elif pod.deletion_at is not None and not run.terminating:
                run.terminating = True
                for container in run.containers.values():
                    container.terminate()
        elif run is not None and not run.forgotten:
            self._kill(run)

    def _begin(self, pod: PodRecord) -> None:
        """Start the processes of a container that has just started."""
        earlier = self._runs.pop(pod.uid, None)
        if earlier is not None:
            self._kill(earlier)
            older = self._previous.pop(pod.uid, None)
            if older is not None:
                _remove_logs(older)
            self._previous[pod.uid] = earlier
        run = PodRun(pod.uid, pod.restart_count, pod.node_name, self._folder / pod.uid)
        self._runs[pod.uid] = run
        run.task = asyncio.get_running_loop().create_task(self._run(run, render_pod(pod), pod))

    def _kill(self, run: PodRun) -> None:
        run.forgotten = True
        for container in run.containers.values():
            container.kill()

    def _forget(self, uid: str) -> None:
        """The pod is gone: so are its processes, then its files."""
        runs = [runs.pop(uid) for runs in (self._runs, self._previous) if uid in runs]
        for run in runs:
            self._kill(run)
        if runs:
            task = asyncio.get_running_loop().create_task(self._clear(runs))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _clear(self, runs: list[PodRun]) -> None:
        await asyncio.gather(*(run.task for run in runs if run.task), return_exceptions=True)
        for run in runs:
            _remove_logs(run)
        await asyncio.to_thread(shutil.rmtree, runs[0].folder, ignore_errors=True)

    # ---- what the processes do

    async def _run(self, run: PodRun, pod: Object, record: PodRecord) -> None:
        async with self._turns:
            try:
                end = await self._containers(run, pod, record)
            except CannotStart as error:
                end = ContainerExit(START_ERROR, "StartError", str(error))
            finally:
                for log in run.logs.values():
                    if not log.ended:
                        log.end()
        if not run.forgotten:
            self._report(run.uid, run.restarts, end)

    async def _containers(self, run: PodRun, pod: Object, record: PodRecord) -> ContainerExit:
        """Run the init containers one after the other, then the others together."""
        run.environment = self._environment(run, record)
        spec = pod["spec"]
        for container in spec.get("initContainers") or ():
            if run.forgotten or run.terminating:
                return _NEVER_STARTED
            end = await self._start(run, pod, container).run(run.environment)
            if end.code:
                return end
        if run.forgotten or run.terminating:
            return _NEVER_STARTED
        started = [self._start(run, pod, container) for container in spec["containers"]]
        ends = await asyncio.gather(*(each.run(run.environment) for each in started))
        return next((end for end in ends if end.code), ends[0])

    def _start(self, run: PodRun, pod: Object, container: Object) -> ContainerProcess:
        name = str(container["name"])
        folder = run.folder / name / str(run.restarts)
        launch = self._launch(pod, container, folder)
        log = run.logs[name] = LogFile(folder.with_suffix(".log"), self._limits.log_bytes)
        process = ContainerProcess(launch, folder, log, self._limits, lambda: self._engine.now)
        run.containers[name] = process
        return process

    def _launch(self, pod: Object, container: Object, folder: Path) -> Launch:
        home = pod["metadata"]["namespace"]

        def find(resource: str, name: str) -> Object | None:
            return _find(self._engine.store, resource, home, name)

        return launch_of(pod, container, find, str(folder))

    def _environment(self, run: PodRun, pod: PodRecord) -> dict[str, str]:
        environment = {
            **self._surroundings,
            "PATH": str(installation()),
            "HOSTNAME": pod.name,
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        kubeconfig = self._kubeconfig(pod)
        if kubeconfig is not None:
            run.folder.mkdir(parents=True, exist_ok=True)
            path = run.folder / "kubeconfig"
            path.touch(mode=0o600)
            path.write_bytes(kubeconfig)
            environment["KUBECONFIG"] = str(path)
        return environment

    def _look(self) -> None:
        """Kill what holds more memory than it may, and what is on a machine that has failed."""
        running: dict[int, ContainerProcess] = {}
        for run in self._runs.values():
            alive = [each for each in run.containers.values() if each.session]
            if alive and not self._engine.world.up(run.node):
                self._kill(run)  # its kubelet will tell of it when it is back
                continue
            for each in alive:
                running[each.session] = each
        if not running:
            return
        for session, size in memory_of_sessions(running).items():
            if size > running[session].most_memory:
                running[session].kill(ContainerExit(KILLED, "OOMKilled"))

    async def _end_all(self) -> None:
        runs = [*self._runs.values(), *self._previous.values()]
        for run in runs:
            self._kill(run)
        tasks = [run.task for run in runs if run.task is not None]
        await asyncio.gather(*tasks, *self._ending, return_exceptions=True)
        for run in runs:
            _remove_logs(run)
        shutil.rmtree(self._folder, ignore_errors=True)


def _find(store: Store, resource: str, namespace: str, name: str) -> Object | None:
    return (
        None
        if store.find(resource, namespace, name) is None
        else store.get(resource, namespace, name)
    )


def _remove_logs(run: PodRun) -> None:
    for log in run.logs.values():
        log.remove()
