"""A webhook of the contract suite: an HTTPS server of its own, whose answers depend on the path."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Review = dict[str, Any]
SERVICE = "hook.hooks.svc"


class WebhookServer:
    """A server that answers reviews; `asked` has what it was sent, by path."""

    def __init__(self, port: int, certificate: bytes) -> None:
        self.port = port
        self.bundle = base64.b64encode(certificate).decode()
        self.asked: dict[str, list[Review]] = {}
        self.arrived, self.go_on = threading.Event(), threading.Event()
        """Of a review on the path `break/wait`."""

    def client(self, path: str) -> dict[str, Any]:
        """Return the client configuration of a path."""
        return {"url": f"https://127.0.0.1:{self.port}/{path}", "caBundle": self.bundle}

    def answer(self, path: str, review: Review) -> tuple[int, Any]:
        """Answer a review."""
        request = review["request"]
        self.asked.setdefault(path, []).append(request)
        word, _, rest = path.partition("/")
        response: Review = {"uid": request["uid"], "allowed": True}
        if path == "break/wait":
            self.arrived.set()
            self.go_on.wait(60)
        ANSWERS[word](rest, request, response)
        status = response.pop("http", 200)
        made = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return status, {**made, "response": response}


def _deny(rest: str, request: Review, response: Review) -> None:
    del request
    response["allowed"] = False
    code, _, message = rest.partition("/")
    if code:
        response["status"] = {"code": int(code), "message": message, "reason": "Forbidden"}


def _annotate(rest: str, request: Review, response: Review) -> None:
    """Append to the annotation `order`, and write how many annotations there were."""
    present = request["object"]["metadata"].get("annotations") or {}
    order = present.get("order", "") + rest
    steps = [{"op": "add", "path": "/metadata/annotations", "value": {**present, "order": order}}]
    _patch(steps, response)


def _count(rest: str, request: Review, response: Review) -> None:
    del rest
    present = request["object"]["metadata"].get("annotations") or {}
    others = sum(name != "count" for name in present)
    value = {**present, "count": str(others)}
    _patch([{"op": "add", "path": "/metadata/annotations", "value": value}], response)


def _break(rest: str, request: Review, response: Review) -> None:
    del request
    match rest:
        case "uid":
            response["uid"] = "other"
        case "http":
            response["http"] = 503
        case "slow":
            time.sleep(3)
        case "patch":
            _patch([{"op": "remove", "path": "/nowhere"}], response)


def _patch(steps: Any, response: Review) -> None:
    response["patchType"] = "JSONPatch"
    response["patch"] = base64.b64encode(json.dumps(steps).encode()).decode()


def _warn(rest: str, request: Review, response: Review) -> None:
    del request
    response["warnings"] = [rest]
    response["auditAnnotations"] = {"said": rest}


def _allow(rest: str, request: Review, response: Review) -> None:
    del rest, request, response


ANSWERS: dict[str, Callable[[str, Review, Review], None]] = {
    "allow": _allow,
    "deny": _deny,
    "annotate": _annotate,
    "count": _count,
    "break": _break,
    "warn": _warn,
}


@contextmanager
def webhook_server(folder: Path) -> Iterator[WebhookServer]:
    """Serve on a free port of loopback, with a certificate made for it."""
    file, certificate = _certificate(folder)
    made: list[WebhookServer] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            review = json.loads(self.rfile.read(length))
            path = self.path.partition("?")[0].strip("/")
            status, answer = made[0].answer(path, review)
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: Any) -> None:
            del words

    class Server(ThreadingHTTPServer):
        def handle_error(self, *words: Any) -> None:
            del words  # a client that does not trust it goes away

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    made.append(WebhookServer(server.server_address[1], certificate))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made[0]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _certificate(folder: Path) -> tuple[Path, bytes]:
    """Write a key with a certificate that it signed itself; return the file and the certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook")])
    now = datetime.now(UTC)
    places = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName(SERVICE)]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(places), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = folder / "webhook.pem"
    file.write_bytes(private + certificate)
    return file, certificate
