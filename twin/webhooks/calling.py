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
from twin.webhooks.answers import Call

LARGEST_ANSWER = 3 << 20
"""Bytes of an answer; a real server takes as many."""
_SAID = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the "
    "request",
}
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
        status, kind, body = _post(call)
    except TimeoutError:
        return _failed(
            call, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        )
    except ssl.SSLCertVerificationError as error:
        return _failed(call, f"tls: failed to verify certificate: {error.verify_message}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _failed(call, f"{error}" or type(error).__name__)
    if status != http.client.OK:
        return {"error": f"failed to call webhook: {_said_of(status, kind, body)}"}
    try:
        return {"review": json.loads(body)}
    except ValueError as error:
        return {"error": f"failed to call webhook: the response cannot be read: {error}"}


def _failed(call: Call, why: str) -> Object:
    return {"error": f'failed to call webhook: Post "{call.address}": {why}'}


def _post(call: Call) -> tuple[int, str, bytes]:
    parts = urlsplit(call.address)
    context = ssl.create_default_context(cadata=call.authority_pem or None)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # which newer Pythons set, and Go has not
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
        return answer.status, answer.headers.get("Content-Type", ""), body


def _said_of(status: int, kind: str, body: bytes) -> str:
    """Return how client-go tells of an answer with an error."""
    known = _SAID.get(status)
    if known is not None:
        return known
    text = body[:1_024].decode(errors="replace").strip() if kind.startswith("text/") else "unknown"
    if status >= http.client.INTERNAL_SERVER_ERROR:
        return (
            f"an error on the server ({json.dumps(text)}) has prevented the request from succeeding"
        )
    if status == http.client.FORBIDDEN:
        return text
    return f"the server responded with the status code {status} but did not return more information"
