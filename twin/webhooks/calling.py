"""The call itself: one HTTPS request to a webhook, within its time."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, urlsplit

from twin.records import Object
from twin.webhooks.hearing import Call

LARGEST_ANSWER = 3 << 20
"""Bytes of an answer; a real server takes as many."""
Caller = Callable[[Sequence[Call]], list[Object]]


def call_all(calls: Sequence[Call]) -> list[Object]:
    """Make calls beside one another and return their answers in order; see `Hearing.answers`."""
    if len(calls) == 1:
        return [call_one(calls[0])]
    with ThreadPoolExecutor(len(calls), "twin-webhooks") as pool:
        return list(pool.map(call_one, calls))


def call_one(call: Call) -> Object:
    """Send one review and return its answer, or why there is none."""
    try:
        status, body = _post(call)
    except TimeoutError:
        return _failed(
            call, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        )
    except ssl.SSLCertVerificationError as error:
        return _failed(call, f"tls: failed to verify certificate: {error.verify_message}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _failed(call, f"{error}" or type(error).__name__)
    if status != http.client.OK:
        text = body[:1_024].decode(errors="replace").strip()
        why = (
            f"an error on the server ({json.dumps(text)}) has prevented the request from succeeding"
        )
        return {"error": f"failed to call webhook: {why}", "code": status}
    try:
        return {"review": json.loads(body)}
    except ValueError as error:
        return {"error": f"failed to call webhook: the response cannot be read: {error}"}


def _failed(call: Call, why: str) -> Object:
    return {"error": f'failed to call webhook: Post "{call.address}": {why}'}


def _post(call: Call) -> tuple[int, bytes]:
    parts = urlsplit(call.address)
    context = ssl.create_default_context(cadata=call.authority_pem or None)
    host, port = parts.hostname or "", parts.port or 443
    if call.connect_to:
        host, _, text = call.connect_to.rpartition(":")
        port = int(text)
    query = f"timeout={call.timeout_seconds}s"
    path = f"{quote(parts.path or '/', safe='/%:@!$&()*+,;=~')}?{query}"
    with (
        socket.create_connection((host, port), call.timeout_seconds) as plain,
        context.wrap_socket(plain, server_hostname=call.server_name) as secure,
    ):
        connection = http.client.HTTPConnection(parts.netloc)
        connection.sock = secure
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, */*",
            "User-Agent": "kube-apiserver-admission",
        }
        connection.request("POST", path, call.body, headers)
        answer = connection.getresponse()
        body = answer.read(LARGEST_ANSWER + 1)
        if len(body) > LARGEST_ANSWER:
            raise ValueError(f"the answer has more than {LARGEST_ANSWER} bytes")
        return answer.status, body
