"""Runs the jobs of a session as Kubernetes Jobs, over the official client.

A Job's ending is kept in the session's folder, its result beside the others, before the Job is deleted; so a
runner that is killed at any moment takes up what it left, and nothing that has ended well runs again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bus.clock import Clock
from bus.errors import InputError
from lab.sessions.engines.ending_files import EndingFiles
from lab.sessions.engines.job_manifest import (
    ATTEMPT_LABEL,
    SESSION_LABEL,
    JobTemplate,
    job_manifest,
    job_name,
    result_path,
)
from lab.sessions.engines.log_follow import LogFollower
from lab.sessions.engines.object_watch import GONE, object_changes
from lab.sessions.engines.pod_reading import (
    DEADLINE,
    JobVerdict,
    PodEnd,
    is_running,
    job_verdict,
    pod_end,
    read_message,
    result_in_log,
    result_in_message,
    without_markers,
)
from lab.sessions.engines.port import (
    Attempt,
    Ending,
    EngineLost,
    NoResult,
    NotSubmitted,
    make_room,
    read_result_file,
    tail_of,
)
from lab.sessions.names import object_name
from services.cluster import ClusterRefused, ClusterUnavailable, Json, Transport
from services.kube_follow import WatchTransport

SUBMIT_TRIES = 6
FIRST_WAIT_SECONDS = 0.2
LOG_BYTES = 32 * 1024**2
POD_GRACE_SECONDS = 3.0
"""How long the pod of a Job that has ended is waited for: its news may come after the Job's."""


class ClusterTransport(WatchTransport, Protocol):
    """What the engine needs of the official client."""


@dataclass(slots=True)
class _Submitted:
    """An attempt whose Job is there."""

    attempt: Attempt
    name: str
    uid: str = ""
    """Of the Job; empty until the cluster has said it."""
    verdict: JobVerdict | None = None
    pod: PodEnd | None = None
    log: LogFollower | None = None
    """Takes a large result home while it is printed."""
    ending: bool = False


class KubernetesEngine:
    """A Kubernetes Job an attempt."""

    name = "kubernetes"
    keeps_deadlines = True

    def __init__(
        self,
        transport: ClusterTransport,
        session: str,
        folder: Path,
        template: JobTemplate,
        clock: Clock,
    ) -> None:
        """Create Jobs for `session` in the template's namespace; endings are kept in `folder`."""
        self._transport = transport
        self._session = session
        self._template = template
        self._clock = clock
        self._known = EndingFiles(folder)
        self._submitted: dict[str, _Submitted] = {}
        self._by_job: dict[str, str] = {}
        self._problems: dict[str, str] = {}
        self._endings: asyncio.Queue[Ending | BaseException] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._jobs = f"/apis/batch/v1/namespaces/{template.namespace}/jobs"
        self._pods = f"/api/v1/namespaces/{template.namespace}/pods"
        self._selector = f"{SESSION_LABEL}={object_name(session)}"

    def result_path(self, output_json: str) -> str:
        """Return the file in the container; it comes back from there."""
        del output_json
        return result_path()

    async def open(self) -> None:
        """Begin to watch; raises InputError where the cluster does not answer or does not let us."""
        query = {"labelSelector": self._selector, "limit": "1"}
        for path in (self._jobs, self._pods):
            try:
                await self._transport.request("GET", path, query)
            except (ClusterUnavailable, ClusterRefused) as error:
                remedy = f"give a cluster that answers, and an account that may list ({error})"
                raise InputError("--kubeconfig", path, remedy) from error
        self._keep(self._follow(self._jobs, self._take_job))
        self._keep(self._follow(self._pods, self._take_pod))

    async def submit(self, attempt: Attempt) -> str:
        """Create the Job, or take up the one that is there; see `Engine.submit`."""
        known = self._known.find(attempt.name)
        if known is not None:
            self._endings.put_nowait(known)
            return job_name(attempt)
        make_room(Path(attempt.output_json))
        name = job_name(attempt)
        self._submitted[attempt.name] = _Submitted(attempt, name)
        self._by_job[name] = attempt.name
        created = round(self._clock.wall_ns() / 1e9)
        try:
            manifest = job_manifest(attempt, self._session, self._template, created)
            await self._create(self._submitted[attempt.name], manifest)
        except BaseException:
            del self._submitted[attempt.name], self._by_job[name]
            raise
        return name

    async def watch(self) -> AsyncIterator[Ending]:
        """Yield attempts as they end; see `Engine.watch`."""
        while True:
            ending = await self._endings.get()
            if isinstance(ending, BaseException):
                raise EngineLost(f"the cluster cannot be watched any more ({ending})") from ending
            yield ending

    async def cancel(self, attempt: Attempt) -> None:
        """Delete the Job with its pods; its ending follows."""
        await self._delete(job_name(attempt))

    async def collect(self, attempt: Attempt) -> bytes:
        """Return the result, which came back before the ending did; see `Engine.collect`."""
        problem = self._problems.pop(attempt.name, "")
        if problem:
            raise NoResult(problem)
        return read_result_file(Path(attempt.output_json))

    async def close(self) -> None:
        """Let go of the cluster and delete the Jobs that run, so that a later runner begins them anew."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for submitted in list(self._submitted.values()):
            if submitted.log is not None:
                submitted.log.close()
            with suppress(ClusterUnavailable, ClusterRefused):
                await self._delete(submitted.name)
        await self._transport.close()

    # ---- creating and deleting

    async def _create(self, submitted: _Submitted, manifest: Json) -> None:
        wait = FIRST_WAIT_SECONDS
        for number in range(SUBMIT_TRIES):
            try:
                answer = await self._transport.request("POST", self._jobs, body=manifest)
            except ClusterUnavailable as error:
                if number + 1 == SUBMIT_TRIES:
                    raise EngineLost(f"the cluster does not answer ({error})") from error
                await asyncio.sleep(wait)
                wait *= 2
            except ClusterRefused as error:
                if error.status != 409:
                    raise NotSubmitted(f"the cluster refuses the Job: {error.message}") from error
                await self._take_up(submitted, manifest)
                return
            else:
                submitted.uid = json.loads(answer.body)["metadata"]["uid"]
                return

    async def _take_up(self, submitted: _Submitted, manifest: Any) -> None:
        """Accept a Job that is there already, if it is the one that we would create."""
        name = submitted.name
        answer = await self._transport.request("GET", f"{self._jobs}/{name}")
        job = json.loads(answer.body)
        labels = job["metadata"].get("labels") or {}
        wanted = manifest["metadata"]["labels"]
        for label in (SESSION_LABEL, ATTEMPT_LABEL, "job-id"):
            if labels.get(label) != wanted[label]:
                raise NotSubmitted(f"a Job {name} of somebody else is there; delete it")
        # The watch has told of it before anybody here asked for it, and may never do so again.
        query = {"labelSelector": f"batch.kubernetes.io/job-name={name}"}
        pods = json.loads((await self._transport.request("GET", self._pods, query)).body)
        for pod in pods["items"]:
            self._take_pod("ADDED", pod)
        submitted.uid = job["metadata"]["uid"]
        self._take_job("ADDED", job)

    async def _delete(self, name: str) -> None:
        try:
            query = {"propagationPolicy": "Background"}
            await self._transport.request("DELETE", f"{self._jobs}/{name}", query)
        except ClusterRefused as error:
            if error.status != 404:
                raise

    # ---- what the cluster says

    async def _follow(self, path: str, take: Any) -> None:
        async for kind, item in object_changes(self._transport, path, self._selector):
            take(kind, item)

    def _take_job(self, kind: str, job: Mapping[str, Any]) -> None:
        submitted = self._of(job["metadata"]["name"])
        if submitted is None:
            return
        # An earlier runner's Job of the same name may still be going.
        if submitted.uid and job["metadata"]["uid"] != submitted.uid:
            return
        submitted.verdict = job_verdict(job)
        if kind == GONE and submitted.verdict is None:
            submitted.verdict = JobVerdict(
                succeeded=False, reason="Deleted", message="", seconds=0.0
            )
        if submitted.verdict is not None:
            self._finish(submitted)

    def _take_pod(self, kind: str, pod: Mapping[str, Any]) -> None:
        del kind
        labels = pod["metadata"].get("labels") or {}
        submitted = self._of(
            str(labels.get("batch.kubernetes.io/job-name") or labels.get("job-name"))
        )
        if submitted is None:
            return
        end = pod_end(pod)
        if end is None:
            if submitted.log is None and is_running(pod):
                path = f"{self._pods}/{pod['metadata']['name']}/log"
                submitted.log = LogFollower(self._transport, path)
            return
        submitted.pod = end
        if end.exit_code is None:
            why = end.reason
            submitted.verdict = JobVerdict(succeeded=False, reason=why, message="", seconds=0.0)
            self._finish(submitted)

    def _of(self, job: str) -> _Submitted | None:
        return self._submitted.get(self._by_job.get(job, ""))

    def _finish(self, submitted: _Submitted) -> None:
        if not submitted.ending:
            submitted.ending = True
            self._keep(self._end(submitted))

    # ---- how an attempt ends

    async def _end(self, submitted: _Submitted) -> None:
        """Bring home what is to be known of a Job that has ended, keep it, and delete the Job."""
        for _ in range(round(POD_GRACE_SECONDS / 0.1)):
            if (
                submitted.pod is not None
                or submitted.verdict is None
                or _never_ran(submitted.verdict)
            ):
                break
            await asyncio.sleep(0.1)
        attempt = submitted.attempt
        ending = await self._read_ending(submitted)
        try:
            self._known.write(ending)
        except OSError as error:
            self._problems[attempt.name] = f"its ending cannot be kept ({error.strerror})"
        if submitted.log is not None:
            submitted.log.close()
        del self._submitted[attempt.name], self._by_job[submitted.name]
        self._endings.put_nowait(ending)
        with suppress(ClusterUnavailable):  # its time to live ends it
            await self._delete(submitted.name)

    async def _read_ending(self, submitted: _Submitted) -> Ending:
        verdict, pod, attempt = submitted.verdict, submitted.pod, submitted.attempt
        assert verdict is not None
        timed_out = verdict.reason == DEADLINE
        if verdict.succeeded:
            problem = await self._bring_home(attempt, pod, submitted.log)
            if problem:
                self._problems[attempt.name] = problem
            return Ending(attempt.name, 0, verdict.seconds)
        tail: tuple[str, ...] = ()
        if pod is not None and pod.exit_code is not None and not _never_ran(verdict):
            tail = tail_of(without_markers(await self._log(pod.pod, {"tailLines": "50"})))
        code = None if pod is None else pod.exit_code
        reason = "" if code else verdict.reason
        if pod is None and not _never_ran(verdict):
            reason = await self._why_no_pod(submitted.name) or verdict.message or verdict.reason
        if pod is not None and pod.reason == "OOMKilled":
            reason = "it took more memory than it may (OOMKilled)"
        return Ending(
            attempt.name,
            code or 1 if code is not None else None,
            verdict.seconds,
            timed_out=timed_out,
            reason=reason,
            log_tail=tail,
        )

    async def _bring_home(
        self, attempt: Attempt, pod: PodEnd | None, log: LogFollower | None
    ) -> str:
        """Write the result of an attempt that ended well; return why there is none."""
        if pod is None:
            return "its pod is gone, and its result with it"
        try:
            told = read_message(pod.message)
            if "gzip" in told:
                data = result_in_message(told)
            else:
                data = await self._printed_result(told, pod, log)
        except NoResult as error:
            return str(error)
        path = Path(attempt.output_json)
        unfinished = path.with_name(f"{path.name}.part")
        try:
            unfinished.write_bytes(data)
            unfinished.replace(path)
        except OSError as error:
            return f"{path}: {error.strerror}"
        return ""

    async def _printed_result(
        self, told: Mapping[str, Any], pod: PodEnd, log: LogFollower | None
    ) -> bytes:
        """Return a result that was printed: as it came while it was, else as the log has it now; raises NoResult."""
        if log is not None:
            with suppress(NoResult):
                return result_in_log(told, await log.text())
        return result_in_log(told, await self._log(pod.pod, {}))

    async def _log(self, pod: str, query: Mapping[str, str]) -> str:
        with suppress(ClusterUnavailable, ClusterRefused):
            path = f"{self._pods}/{pod}/log"
            answer = await self._transport.request(
                "GET", path, {"limitBytes": str(LOG_BYTES), **query}
            )
            return answer.body.decode(errors="replace")
        return ""

    async def _why_no_pod(self, job: str) -> str:
        """Return what the Job's events say of pods that could not be created, such as a quota."""
        path = f"/api/v1/namespaces/{self._template.namespace}/events"
        query = {"fieldSelector": f"involvedObject.name={job},reason=FailedCreate"}
        with suppress(ClusterUnavailable, ClusterRefused):
            events = json.loads((await self._transport.request("GET", path, query)).body)["items"]
            return str(events[-1].get("message", "")) if events else ""
        return ""

    def _keep(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._endings.put_nowait(error)


def _never_ran(verdict: JobVerdict) -> bool:
    """Say whether a Job was given up or deleted, so that no end of its pod is to be waited for."""
    return not verdict.succeeded and verdict.reason not in {"BackoffLimitExceeded", DEADLINE}


async def delete_jobs(transport: Transport, session: str, namespace: str) -> None:
    """Delete every Job of a session with its pods, whoever created it; raises as `Transport.request`."""
    query = {
        "labelSelector": f"{SESSION_LABEL}={object_name(session)}",
        "propagationPolicy": "Background",
    }
    await transport.request("DELETE", f"/apis/batch/v1/namespaces/{namespace}/jobs", query)
