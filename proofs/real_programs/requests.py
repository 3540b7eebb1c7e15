"""Requests to an API server by path, over TLS with what a kubeconfig says."""

from __future__ import annotations

import base64
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
PATIENCE_SECONDS = 900.0
"""How long nobody may listen: a server is being restarted."""
Object = dict[str, Any]


class _Patience:
    """How many times as long as on an idle machine things may take."""

    factor = 1.0


_patience = _Patience()


def patience() -> float:
    """Return how many times as long things may take here."""
    return _patience.factor


def be_patient(factor: float) -> None:
    """Let whatever is waited for come so many times as late: the machine is busy."""
    _patience.factor = factor


class Refused(Exception):
    """A request that was answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class Late(AssertionError):
    """Something that was waited for and did not come."""


class Api:
    """One user of one API server."""

    def __init__(self, kubeconfig: Path) -> None:
        """Read address, authority and token."""
        content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster = content["clusters"][0]["cluster"]
        if "certificate-authority" in cluster:
            authority = Path(cluster["certificate-authority"]).read_text(encoding="utf-8")
        else:
            authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.kubeconfig, self.server = kubeconfig, str(cluster["server"])
        self._token = content["users"][0]["user"]["token"]
        self.restart_server: Callable[[], None] | None = None
        """Ends the server as by a failure and starts it again, where somebody can."""
        self._context = ssl.create_default_context(cadata=authority)

    def ask(
        self, method: str, path: str, body: Any = None, media: str | None = None, **query: str
    ) -> Any:
        """Send one request and return what is answered; a PATCH merges. Raises Refused."""
        text = f"?{urlencode(query)}" if query else ""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.server}{path}{text}", data, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        kind = media or (MERGE if method == "PATCH" else "application/json")
        request.add_header("Content-Type", kind)
        content = self._send(request)
        return json.loads(content) if content.startswith(b"{") else content.decode()

    def stream(self, path: str) -> Iterator[bytes]:
        """Yield the lines of a watch until the server ends it."""
        request = urllib.request.Request(f"{self.server}{path}")
        request.add_header("Authorization", f"Bearer {self._token}")
        with urllib.request.urlopen(
            request, context=self._context, timeout=PATIENCE_SECONDS
        ) as answer:
            yield from answer

    def _send(self, request: urllib.request.Request) -> bytes:
        """Send a request, again while nobody listens; what was cut is asked again if it only reads."""
        end = time.monotonic() + PATIENCE_SECONDS * _patience.factor
        while True:
            try:
                with urllib.request.urlopen(
                    request, context=self._context, timeout=PATIENCE_SECONDS
                ) as answer:
                    return bytes(answer.read())
            except urllib.error.HTTPError as error:
                with error:
                    raise Refused(error.code, _message(error.read())) from None
            except urllib.error.URLError as error:
                cut = isinstance(error.reason, ConnectionResetError)
                unheard = isinstance(error.reason, ConnectionRefusedError)
                again = unheard or (cut and request.get_method() == "GET")
                if not again or time.monotonic() > end:
                    raise
            except (RemoteDisconnected, ConnectionResetError):
                if request.get_method() != "GET" or time.monotonic() > end:
                    raise
            time.sleep(0.2)

    def apply(self, path: str, body: Object) -> Any:
        """Apply an object on the server's side."""
        where = f"{path}/{body['metadata']['name']}"
        return self.ask("PATCH", where, body, APPLY, fieldManager="installer", force="true")

    def items(self, path: str) -> list[Object]:
        """Return all objects of a list."""
        return list(self.ask("GET", path)["items"])

    def find(self, path: str) -> Object | None:
        """Return an object; None when there is none."""
        try:
            found: Object = self.ask("GET", path)
        except Refused as refusal:
            if refusal.status != 404:
                raise
            return None
        return found

    def serves(self, path: str) -> bool:
        """Say whether there is a resource of this path; a new one is refused for a moment on a real server."""
        try:
            return self.find(path) is not None
        except Refused as refusal:
            if refusal.status not in (429, 503):
                raise
            return False

    def remove(self, path: str) -> None:
        """Delete an object, if it is there."""
        try:
            self.ask("DELETE", path)
        except Refused as refusal:
            if refusal.status != 404:
                raise


def until(what: str, so: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Wait until something is so, and return it; raises Late."""
    end = time.monotonic() + seconds * _patience.factor
    while True:
        found = so()
        if found:
            return found
        if time.monotonic() > end:
            raise Late(f"{what}: not within {seconds:g} s")
        time.sleep(0.25)


def always(what: str, so: Callable[[], Any], seconds: float) -> None:
    """Look for so many seconds whether something stays so; raises AssertionError."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert so(), f"{what}: no more"
        time.sleep(0.25)


def _message(content: bytes) -> str:
    try:
        return str(json.loads(content)["message"])
    except (ValueError, KeyError, TypeError):
        return content.decode(errors="replace")


def make_account(
    api: Api, namespace: str, name: str, rules: Iterable[tuple[list[str], str, list[str]]]
) -> None:
    """Make a service account with rights of its own: (verbs, API group, resources) each, in the whole cluster."""
    rights = "/apis/rbac.authorization.k8s.io/v1"
    allowed = [{"verbs": v, "apiGroups": [g], "resources": r} for v, g, r in rules]
    api.ask("POST", f"{rights}/clusterroles", {"metadata": {"name": name}, "rules": allowed})
    api.ask("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    api.ask("POST", f"{rights}/clusterrolebindings", binding)
