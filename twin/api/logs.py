"""Logs of simulated pods: made from the recorded life of the pod, so equal lives have equal logs.

A container says when it starts, becomes ready, works (once a minute) and ends. Nothing is stored:
the lines of any moment follow from the pod's record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from twin.api.bodies import whole_seconds
from twin.api.log_options import check_log_options
from twin.api.messages import Request, Response, WatchResponse
from twin.behaviour.pod_work import is_local
from twin.changes import Change
from twin.errors import bad_request
from twin.local_pods.log_file import Line, LogFile
from twin.local_pods.runner import Runner
from twin.records import PodRecord
from twin.render.init_containers import waiting_reason
from twin.store import Store
from twin.timestamps import rfc3339, rfc3339_micro

BEAT_SECONDS = 60
"""Cluster seconds between two lines of a container that works."""
MOST_BEATS = 1_440
"""A log begins at most so many beats back, as if the older part had been rotated away."""
TEXT = "text/plain"


def pod_log(
    store: Store, namespace: str, name: str, request: Request, runner: Runner | None = None
) -> Response | WatchResponse:
    """Answer `pods/log`; a local pod's log is what its processes print.

    Raises:
        ApiError: 404 for no such pod; 400 for a container that it does not have or that has not
            run, and for malformed parameters.
    """
    pod = store.record("pods", namespace, name)
    assert isinstance(pod, PodRecord)
    previous = request.flag("previous")
    check_log_options(name, request.query)
    if runner is not None and is_local(pod, runner.config):
        return _process_log(store, pod, runner, request, previous=previous)
    _check_container(pod, request.query.get("container", ""))
    if not pod.node_name:
        return Response(204, b"", "")  # as a real server, which has no kubelet to ask
    _check_ran(pod, previous=previous)
    chosen = _select_lines(list(_lines(pod, store.now(), previous=previous)), store.now(), request)
    text = _text(chosen, request)
    if not request.flag("follow") or previous or pod.terminal:
        return Response(200, text, TEXT)
    return _follow_log(store, pod, text, request)


def _process_log(
    store: Store, pod: PodRecord, runner: Runner, request: Request, *, previous: bool
) -> Response | WatchResponse:
    container = request.query.get("container", "")
    inits = [each["name"] for each in pod.shape.spec.get("initContainers") or ()]
    if container not in inits:
        _check_container(pod, container)
    log = runner.log_of(pod, container or pod.shape.containers[0], previous=previous)
    if log is None:
        _check_ran(pod, previous=previous)
        return Response(200, b"", TEXT)  # it waits for its turn, or for those before it
    stamped, count = request.flag("timestamps"), log.count
    text = _plain_text(_select_lines(list(log.lines()), store.now(), request), stamped=stamped)
    if request.query.get("limitBytes"):
        text = text[: whole_seconds(request.query["limitBytes"])]
    if not request.flag("follow") or log.ended:
        return Response(200, text, TEXT)
    return _follow_process(log, count, text, stamped=stamped)


def _plain_text(lines: list[Line], *, stamped: bool) -> bytes:
    rows = (f"{rfc3339_micro(at)} {text}\n" if stamped else f"{text}\n" for at, text in lines)
    return "".join(rows).encode()


def _follow_process(log: LogFile, count: int, text: bytes, *, stamped: bool) -> WatchResponse:
    """Return a log that continues, after its first `count` lines, until the process ends."""

    def feed(put: Callable[[bytes], None]) -> Callable[[], None]:
        missed = log.count - count  # written since the first part was read
        if missed:
            put(_plain_text(list(log.lines())[-missed:], stamped=stamped))
        return log.listen(lambda line: put(_plain_text([line] if line else [], stamped=stamped)))

    return WatchResponse(iter((text,)), lambda _: None, None, None, TEXT, lambda: log.ended, feed)


def _check_container(pod: PodRecord, container: str) -> None:
    names = pod.shape.containers
    if not container and len(names) > 1:
        raise bad_request(
            f"a container name must be specified for pod {pod.name}, choose one of: "
            f"[{' '.join(names)}]"
        )
    if container and container not in names:
        raise bad_request(f"container {container} is not valid for pod {pod.name}")


def _check_ran(pod: PodRecord, *, previous: bool) -> None:
    container = pod.shape.containers[0]
    if previous and (pod.ended is None or not pod.restart_count):
        raise bad_request(
            f'previous terminated container "{container}" in pod "{pod.name}" not found'
        )
    if not previous and pod.container_state == "waiting" and pod.ended is None:
        raise bad_request(
            f'container "{container}" in pod "{pod.name}" is waiting to start: '
            f"{waiting_reason(pod) or 'ContainerCreating'}"
        )


def _lines(pod: PodRecord, now: float, *, previous: bool) -> Iterator[Line]:
    """Yield the lines of the newest run, or of the one before it."""
    ended = pod.ended if previous or pod.container_state != "running" else None
    began = pod.container_since if ended is None else ended.started_at
    attempt = pod.restart_count + (0 if previous or pod.container_state == "waiting" else 1)
    until = now if ended is None else ended.finished_at
    yield began, f"level=info msg=starting image={pod.shape.images[0]} attempt={max(attempt, 1)}"
    if ended is None and pod.ready and pod.ready_at >= began:
        yield pod.ready_at, "level=info msg=ready"
    beats = int((until - began) // BEAT_SECONDS)
    for beat in range(max(1, beats - MOST_BEATS), beats + 1):
        at = began + beat * BEAT_SECONDS
        yield at, f"level=info msg=working up_seconds={beat * BEAT_SECONDS}"
    if ended is not None:
        level = "info" if ended.exit_code == 0 else "error"
        yield until, f"level={level} msg=exiting code={ended.exit_code} reason={ended.reason}"


def _select_lines(lines: list[Line], now: float, request: Request) -> list[Line]:
    query = request.query
    since = None
    if query.get("sinceSeconds"):
        since = now - whole_seconds(query["sinceSeconds"])
    elif query.get("sinceTime"):
        try:
            since = datetime.fromisoformat(query["sinceTime"]).timestamp()
        except ValueError as error:
            raise bad_request(f"sinceTime is no RFC 3339 time: {query['sinceTime']}") from error
    lines = sorted(lines, key=lambda line: line[0])
    if since is not None:
        lines = [line for line in lines if line[0] >= since]
    if query.get("tailLines"):
        most = whole_seconds(query["tailLines"])
        lines = lines[-most:] if most else []
    return lines


def _text(lines: list[Line], request: Request) -> bytes:
    stamped = request.flag("timestamps")
    text = "".join(
        f"{rfc3339_micro(at)} time={rfc3339(at)} {text}\n"
        if stamped
        else f"time={rfc3339(at)} {text}\n"
        for at, text in lines
    ).encode()
    limit = request.query.get("limitBytes")
    return text[: whole_seconds(limit)] if limit else text


def _follow_log(store: Store, pod: PodRecord, text: bytes, request: Request) -> WatchResponse:
    """Return a log that continues until the container's run ends."""
    shown, uid = store.now(), pod.uid

    def fresh() -> bytes:
        nonlocal shown
        live = store.find("pods", pod.namespace, pod.name)
        now = store.now()
        lines: list[Line] = []
        if isinstance(live, PodRecord) and live.uid == uid and live.container_state != "waiting":
            lines = [line for line in _lines(live, now, previous=False) if shown < line[0] <= now]
        shown = now
        return _text(lines, request)

    def translate(change: Change) -> bytes | None:
        return (fresh() or None) if change.record.uid == uid else None

    def over() -> bool:
        live = store.find("pods", pod.namespace, pod.name)
        alive = isinstance(live, PodRecord) and live.uid == uid
        return not alive or (isinstance(live, PodRecord) and live.container_state != "running")

    return WatchResponse(iter((text,)), translate, fresh, None, TEXT, over)
