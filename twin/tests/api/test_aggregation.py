"""Groups that another API server answers: requests are handed on with who asks, within what they may."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.patience import HANGS_SECONDS
from twin.api.aggregation import Aggregator
from twin.api.certificates import prepare
from twin.api.connections import create_server
from twin.api.server import ApiServer
from twin.api.tokens import Tokens
from twin.config import TwinConfig
from twin.config.access import AccessConfig
from twin.engine import Engine
from twin.tests.contract.webhook_server import _certificate

GROUP = "metrics.example.com"
PATH = f"/apis/{GROUP}/v1/things"
KINDS = {
    "kind": "APIResourceList",
    "groupVersion": f"{GROUP}/v1",
    "resources": [
        {"name": "things", "singularName": "thing", "namespaced": False, "kind": "Thing",
         "verbs": ["get", "list"], "shortNames": ["th"]},
        {"name": "things/status", "namespaced": False, "kind": "Thing", "verbs": ["get"]},
    ],
}  # fmt: skip
AGGREGATED = "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"


class Behind:
    """Another API server: it answers with what it was asked, and by whom."""

    def __init__(self, folder: Path, trusted: bytes) -> None:
        file, _ = _certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        context.load_verify_locations(cadata=trusted.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        asked: list[dict[str, Any]] = []
        self.asked = asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                subject = self.connection.getpeercert().get("subject", ())  # type: ignore[attr-defined]
                asked.append(
                    {
                        "path": self.path,
                        "user": self.headers.get("X-Remote-User"),
                        "groups": self.headers.get_all("X-Remote-Group"),
                        "token": self.headers.get("Authorization"),
                        "proxy": dict(pair for row in subject for pair in row).get("commonName"),
                    }
                )
                whole = {"kind": "ThingList", "items": []}
                body = json.dumps(KINDS if self.path == f"/apis/{GROUP}/v1" else whole).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: Any) -> None:
                del words

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Served:
    """A twin over HTTP whose Roles count, with another server behind one of its groups."""

    def __init__(
        self, engine: Engine, address: str, tokens: dict[str, str], behind: Behind
    ) -> None:
        self.engine, self.address, self.tokens, self.behind = engine, address, tokens, behind

    def ask(self, path: str, who: str = "admin", **query: str) -> httpx.Response:
        """Read something as one of the twin's users; empty for nobody."""
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        return httpx.get(
            f"{self.address}{path}", headers=headers, params=query, timeout=HANGS_SECONDS
        )


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Serve a twin from a thread of its own."""
    credentials = prepare(tmp_path, (), time.time(), keep=False)
    behind = Behind(tmp_path, credentials.authority_pem)
    engine = Engine(TwinConfig(access=AccessConfig("rbac", credentials.authority_pem.decode())), 1)
    tokens = Tokens.draw()
    aggregator = Aggregator(engine.store, credentials.proxy_file)
    server = create_server(ApiServer(engine, tokens, aggregator=aggregator), None)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    thread = threading.Thread(target=asyncio.run, args=(server.serve(sockets=[listener]),))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    host, port = listener.getsockname()
    try:
        yield Served(engine, f"http://{host}:{port}", tokens.of_all(), behind)
    finally:
        server.should_exit = True
        thread.join()
        behind.server.shutdown()
        behind.server.server_close()


def _install(served: Served, *, reachable: bool = True) -> None:
    store = served.engine.store
    spec = {"group": GROUP, "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
            "insecureSkipTLSVerify": True, "service": {"namespace": "default", "name": "things"}}  # fmt: skip
    store.create("apiservices", "", {"metadata": {"name": f"v1.{GROUP}"}, "spec": spec})
    ports = {"spec": {"ports": [{"port": 443}]}}
    store.create("services", "default", {"metadata": {"name": "things"}, **ports})
    if reachable:
        subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": served.behind.port}]}
        body = {"metadata": {"name": "things"}, "subsets": [subset]}
        store.create("endpoints", "default", body)


def test_a_request_is_handed_on_with_who_asks(served: Served) -> None:
    """The other server gets path, parameters, user and groups by the front proxy's certificate, and no token."""
    _install(served)
    answer = served.ask(PATH, limit="3")
    assert (answer.status_code, answer.json()["kind"]) == (200, "ThingList")
    (asked,) = served.behind.asked
    assert asked == {
        "path": f"{PATH}?limit=3",
        "user": "foresail:admin",
        "groups": ["system:masters", "system:authenticated"],
        "token": None,
        "proxy": "front-proxy-client",
    }


def test_rights_count_before_anything_is_handed_on(served: Served) -> None:
    """Who may not list such things is refused by the twin; the other server is not asked."""
    _install(served)
    answer = served.ask(PATH, "")
    assert answer.status_code == 403, answer.text
    assert "things.metrics.example.com is forbidden" in answer.json()["message"]
    assert served.behind.asked == []


def test_a_server_that_nobody_wrote_an_address_for_is_unavailable(served: Served) -> None:
    """The answer is 503, in the words of a real server, and 404 without an APIService."""
    assert served.ask(PATH).status_code == 404
    _install(served, reachable=False)
    answer = served.ask(PATH)
    assert (answer.status_code, answer.text) == (503, "service unavailable\n")


def _discovered(served: Served) -> dict[str, Any]:
    """Return what aggregated discovery says of the other server's version."""
    token = {"Authorization": f"Bearer {served.tokens['admin']}", "Accept": AGGREGATED}
    found = httpx.get(f"{served.address}/apis", headers=token, timeout=HANGS_SECONDS).json()[
        "items"
    ]
    (group,) = [one for one in found if one["metadata"]["name"] == GROUP]
    (version,) = group["versions"]
    return dict(version)


def test_discovery_has_what_the_other_server_says_of_its_kinds(served: Served) -> None:
    """With parts below their owners; the other server is asked once, by the aggregator."""
    _install(served)
    version = _discovered(served)
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    (thing,) = version["resources"]
    assert (thing["resource"], thing["scope"], thing["shortNames"]) == ("things", "Cluster", ["th"])
    assert [part["subresource"] for part in thing["subresources"]] == ["status"]
    assert _discovered(served) == version
    assert [asked["user"] for asked in served.behind.asked] == ["system:kube-aggregator"]


def test_a_version_is_stale_until_its_server_answers(served: Served) -> None:
    """A change of its APIService has it asked again."""
    _install(served, reachable=False)
    assert _discovered(served) == {"version": "v1", "freshness": "Stale"}
    subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": served.behind.port}]}
    body = {"metadata": {"name": "things"}, "subsets": [subset]}
    served.engine.store.create("endpoints", "default", body)
    name = f"v1.{GROUP}"
    service = served.engine.store.get("apiservices", "", name)
    service["metadata"]["labels"] = {"now": "reachable"}
    served.engine.store.replace("apiservices", "", name, service)
    assert _discovered(served)["freshness"] == "Current"


def test_the_trust_of_other_servers_can_be_read(served: Served) -> None:
    """Where they look for it: a ConfigMap in kube-system, with the authority and the name of the proxy."""
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    data = served.ask(path).json()["data"]
    assert json.loads(data["requestheader-allowed-names"]) == ["front-proxy-client"]
    assert data["requestheader-client-ca-file"].startswith("-----BEGIN CERTIFICATE-----")
    role = "extension-apiserver-authentication-reader"
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/{role}"
    assert served.ask(roles).json()["rules"][0]["resourceNames"] == [
        "extension-apiserver-authentication"
    ]
