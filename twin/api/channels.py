"""`exec`, `attach` and `port-forward` of local pods: channels over one WebSocket.

Each binary message begins with the number of its channel. Protocols: `v5.channel.k8s.io` and
`v4.channel.k8s.io` (kubernetes.io/docs/reference/using-api/api-concepts and KEP-4006). Clients that know only SPDY
are told so.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, unquote

from uvicorn.protocols.utils import ClientDisconnected

from twin.api import tunnel
from twin.api.access import Attributes, Identity
from twin.api.headers import decode_headers
from twin.api.messages import JSON, json_bytes
from twin.api.router import Router
from twin.behaviour.pod_work import is_local
from twin.errors import ApiError, bad_request, unknown_resource
from twin.local_pods.command import CannotStart
from twin.local_pods.further_process import STDERR, STDOUT, FurtherProcess
from twin.local_pods.runner import Runner
from twin.records import Object, PodRecord

PATH = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/(exec|attach|portforward)/?\Z")
V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
STDIN, ERROR, RESIZE, CLOSE = 0, 3, 4, 255
MOST_PORTS = 16
"""Ports of one port-forward."""
_PIECE = 16 << 10
_NOT_SIMULATED = "is simulated: nothing runs in it, so {} is not available"
Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Parameters = list[tuple[str, str]]


async def serve_channels(
    router: Router,
    identity: Identity | None,
    scope: dict[str, Any],
    receive: Receive,
    send: Send,
) -> None:
    """Answer one request for a WebSocket; `identity` is whose token it carries, None for nobody's."""
    await receive()  # websocket.connect
    try:
        pod, subresource, runner = _asked(router, identity, scope)
        if subresource == "portforward" and tunnel.ALLOWED_NAME in scope["subprotocols"]:
            await send({"type": "websocket.accept", "subprotocol": tunnel.PROTOCOL})
            await tunnel.Tunnel(receive, send).serve()
            return
        protocol = next((one for one in (V5, V4) if one in scope["subprotocols"]), None)
        if protocol is None:
            raise bad_request(f"unable to upgrade: subprotocols {V5} and {V4} are served")
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if subresource == "portforward":
            ports = _ports(query)
            await send({"type": "websocket.accept", "subprotocol": protocol})
            await _forward(ports, receive, send)
            return
        container = dict(query).get("container") or pod.shape.containers[0]
        if subresource == "attach":
            await _attach(runner, pod, container, protocol, receive, send)
        else:
            await _exec(runner, pod, container, (query, protocol), receive, send)
    except ApiError as error:
        await _refuse(send, error)


def _asked(
    router: Router, identity: Identity | None, scope: dict[str, Any]
) -> tuple[PodRecord, str, Runner]:
    """Return the pod that is meant and what is wanted of it; raises ApiError."""
    if identity is None:
        raise ApiError(401, "Unauthorized", "Unauthorized")
    path = unquote(scope["path"])
    match = PATH.match(path)
    if match is None:
        raise unknown_resource(path)
    namespace, name, subresource = match.groups()
    requester = router.access.requester(identity, decode_headers(scope))
    for verb in ("get", "create"):  # since 1.35 a GET that is upgraded needs both
        requester.require(Attributes(verb, "", "pods", subresource, namespace, name))
    pod, runner = router.subresources.pod(namespace, name), router.subresources.runner
    if runner is None or not is_local(pod, runner.config):
        simulated = f"pod {name} {_NOT_SIMULATED.format(subresource)}"
        raise ApiError(501, "NotImplemented", simulated)
    if pod.terminal:
        where = f"cannot exec into a container in a completed pod; current phase is {pod.phase}"
        raise bad_request(where)
    return pod, subresource, runner


async def _refuse(send: Send, error: ApiError) -> None:
    body = json_bytes(error.to_status())
    headers = [(b"content-type", JSON.encode()), (b"content-length", b"%d" % len(body))]
    start = {"type": "websocket.http.response.start", "status": error.status, "headers": headers}
    await send(start)
    await send({"type": "websocket.http.response.body", "body": body})
    raise ClientDisconnected  # or uvicorn would write into its log that there was no answer


# ---- exec and attach


async def _exec(
    runner: Runner,
    pod: PodRecord,
    container: str,
    asked: tuple[Parameters, str],
    receive: Receive,
    send: Send,
) -> None:
    query, protocol = asked
    words = [value for key, value in query if key == "command"]
    if not words:
        raise bad_request("you must specify at least 1 command for the container")
    wants = {key: value not in ("false", "0") for key, value in query}
    process = runner.further(pod, container)
    if process is None:
        raise bad_request(f"container {container} is not running in pod {pod.name}")
    tty = wants.get("tty", False)
    try:
        await process.start(words, stdin=wants.get("stdin", False), tty=tty)
    except CannotStart as error:
        await send({"type": "websocket.accept", "subprotocol": protocol})
        await _send_status(send, _failure(f"error executing command in container: {error}"))
        return
    chosen = {STDOUT: wants.get("stdout", False), STDERR: wants.get("stderr", False) and not tty}
    await send({"type": "websocket.accept", "subprotocol": protocol})
    # The lowest channel that is written to opens with an empty message: now the client is connected.
    await _put(send, next((channel for channel, on in chosen.items() if on), ERROR), b"")
    listening = asyncio.create_task(_take_input(process, receive))
    speaking = asyncio.create_task(_send_output(process, chosen, send))
    try:
        await asyncio.wait({listening, speaking}, return_when=asyncio.FIRST_COMPLETED)
        if speaking.done() and speaking.exception() is None:
            await _send_status(send, _end_status(await process.wait()))
    finally:
        for task in (listening, speaking):
            task.cancel()
        await asyncio.gather(listening, speaking, return_exceptions=True)
        process.close()


async def _take_input(process: FurtherProcess, receive: Receive) -> None:
    """Hand on what the client sends, until it disconnects."""
    while True:
        message = await receive()
        if message["type"] != "websocket.receive":
            return
        data = message.get("bytes") or (message.get("text") or "").encode()
        if not data:
            continue
        if data[0] == STDIN:
            await process.write(data[1:])
        elif data[0] == CLOSE and data[1:2] == bytes([STDIN]):
            process.end_input()
        elif data[0] == RESIZE:
            with suppress(ValueError, KeyError, TypeError, OverflowError):
                size = json.loads(data[1:])
                process.resize(int(size["Width"]) & 0xFFFF, int(size["Height"]) & 0xFFFF)


async def _send_output(process: FurtherProcess, chosen: dict[int, bool], send: Send) -> None:
    async for channel, data in process.outputs():
        if chosen.get(channel):
            await _put(send, channel, data)


async def _attach(
    runner: Runner, pod: PodRecord, container: str, protocol: str, receive: Receive, send: Send
) -> None:
    """Send what the container prints from now on; its input is closed."""
    log = runner.log_of(pod, container, previous=False)
    if log is None:
        raise bad_request(f"container {container} is not running in pod {pod.name}")
    await send({"type": "websocket.accept", "subprotocol": protocol})
    await _put(send, STDOUT, b"")
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    stop = log.listen(lambda line: lines.put_nowait(f"{line[1]}\n".encode() if line else None))
    listening = asyncio.create_task(_wait_for_end(receive))
    try:
        while not listening.done():
            taking = asyncio.create_task(lines.get())
            await asyncio.wait({listening, taking}, return_when=asyncio.FIRST_COMPLETED)
            if not taking.done():
                taking.cancel()
            elif (line := taking.result()) is not None:
                await _put(send, STDOUT, line)
            else:
                await _send_status(send, {"metadata": {}, "status": "Success"})
                return
    finally:
        stop()
        listening.cancel()


async def _wait_for_end(receive: Receive) -> None:
    while (await receive())["type"] == "websocket.receive":
        pass


async def _put(send: Send, channel: int, data: bytes) -> None:
    await send({"type": "websocket.send", "bytes": bytes([channel]) + data})


async def _send_status(send: Send, status: Object) -> None:
    """Say on the error channel how it ended, and close."""
    with suppress(Exception):  # the client may be gone, and then nobody asks
        await _put(send, ERROR, json_bytes(status))
        await send({"type": "websocket.close", "code": 1000})


def _end_status(code: int) -> Object:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _failure(message: str) -> Object:
    whole = f"Internal error occurred: {message}"
    status = {"metadata": {}, "status": "Failure", "message": whole, "reason": "InternalError"}
    return {**status, "code": 500}


# ---- port-forward


def _ports(query: Parameters) -> list[int]:
    """Return the ports asked for; raises ApiError 400."""
    texts = [text for key, value in query if key == "ports" for text in value.split(",")]
    ports = [int(text) for text in texts if re.fullmatch("[0-9]{1,5}", text)]
    if not texts or len(ports) != len(texts) or len(ports) > MOST_PORTS:
        raise bad_request(f"ports: give 1 to {MOST_PORTS} port numbers")
    if not all(0 < port < 65_536 for port in ports):
        raise bad_request("ports: a port is from 1 to 65535")
    return ports


async def _forward(ports: list[int], receive: Receive, send: Send) -> None:
    """Carry bytes between the client and ports of this machine, where local pods listen.

    Port number i has channel 2i for data and 2i + 1 for what went wrong; each opens with its port.
    """
    for index, port in enumerate(ports):
        for channel in (2 * index, 2 * index + 1):
            await _put(send, channel, port.to_bytes(2, "little"))
    writers: dict[int, asyncio.StreamWriter] = {}
    tasks: list[asyncio.Task[None]] = []
    for index, port in enumerate(ports):
        try:
            reader, writers[2 * index] = await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            why = f"error forwarding port {port}: {error.strerror or error}"
            await _put(send, 2 * index + 1, why.encode())
            continue
        tasks.append(asyncio.create_task(_carry(reader, 2 * index, send)))
    listening = asyncio.create_task(_take_bytes(writers, receive))
    carrying = asyncio.create_task(_wait_for_all(tasks))
    try:
        await asyncio.wait({listening, carrying}, return_when=asyncio.FIRST_COMPLETED)
        if not listening.done():
            with suppress(Exception):
                await send({"type": "websocket.close", "code": 1000})
    finally:
        for task in (*tasks, carrying, listening):
            task.cancel()
        await asyncio.gather(*tasks, carrying, listening, return_exceptions=True)
        for writer in writers.values():
            writer.close()


async def _wait_for_all(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, channel: int, send: Send) -> None:
    while data := await reader.read(_PIECE):
        await _put(send, channel, data)


async def _take_bytes(writers: dict[int, asyncio.StreamWriter], receive: Receive) -> None:
    while (message := await receive())["type"] == "websocket.receive":
        data = message.get("bytes") or (message.get("text") or "").encode()
        writer = writers.get(data[0]) if data else None
        if writer is not None:
            with suppress(OSError):
                writer.write(data[1:])
                await writer.drain()
