"""`python -m services.login_secrets`: the logins of an installation in a cluster, as two Secrets, once.

Every identity's `login.env` is a key of the Secret `foresail-logins`, of which a pod mounts its own key alone; what
nats-server includes is in `foresail-nats`. Passwords that are there are kept, so running it again changes nothing
but what a new version adds. It reads the variables that every process reads, and

FORESAIL_NAMESPACE: where the Secrets are.
FORESAIL_NATS_ROUTES: names of the servers of a NATS cluster, with commas; unset: one server alone.
FORESAIL_NATS_LOGIN_FILE: also write the login of the bootstrap there, for the step that declares the log.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bus.errors import ConfigError, ForesailError, InputError
from bus.exit_codes import ExitCode
from bus.identities import Identity
from bus.login import FILE_VARIABLE
from bus.logins import PASSWORD_BYTES, env_lines, new_logins, parse_login, write_private
from bus.nats_conf import accounts_conf
from bus.streams import StreamDeclaration
from services.cluster import ClusterRefused, Transport
from services.identities import IDENTITIES
from services.official_client import OfficialClientTransport
from services.rights.logins import ACCOUNTS, LOGINS, RIGHTS
from services.rights.reviews import require_rights

ROUTE_KEY = "routes.password"
"""Key of the password by which servers of one NATS cluster know one another."""
BOOTSTRAP = "bootstrap"
ROUTE_PORT = 6222
Texts = dict[str, str]


def login_texts(known: Mapping[str, str], identities: Sequence[Identity]) -> Texts:
    """Return the Secret of logins: those that are known stay, new identities get one.

    Raises:
        ConfigError: a known one cannot be read.
    """
    logins = {f"{name}.env": env_lines(login) for name, login in new_logins(identities).items()}
    texts = {ROUTE_KEY: secrets.token_urlsafe(PASSWORD_BYTES), **logins}
    kept = {key: text for key, text in known.items() if key in texts}
    for key, text in kept.items():
        if key != ROUTE_KEY:
            parse_login(text)
    return {**texts, **kept}


def server_texts(
    logins: Mapping[str, str],
    identities: Sequence[Identity],
    declaration: StreamDeclaration,
    cluster: str,
    routes: Sequence[str],
) -> Texts:
    """Return what nats-server includes: accounts and, with several servers, their routes."""
    by_name = {one.name: parse_login(logins[f"{one.name}.env"]) for one in identities}
    conf = accounts_conf(cluster, declaration.name, by_name, anonymous=False)
    return {"accounts.conf": conf, "routes.conf": routes_conf(routes, logins[ROUTE_KEY])}


def routes_conf(routes: Sequence[str], password: str) -> str:
    """Return the part of nats.conf that makes several servers one cluster; a comment for one server."""
    if not routes:
        return "# one server alone\n"
    urls = [f"nats://route:{password}@{name}:{ROUTE_PORT}" for name in routes]
    return (
        "cluster {\n"
        "  name: foresail\n"
        f'  listen: "0.0.0.0:{ROUTE_PORT}"\n'
        f'  authorization {{ user: route, password: "{password}", timeout: 5 }}\n'
        f"  routes: {json.dumps(urls)}\n"
        "}\n"
    )


async def keep_secrets(environment: Mapping[str, str], transport: Transport) -> str:
    """Make or complete both Secrets; return one line of what was done.

    Raises:
        ConfigError: a variable is unset, or a right is missing.
        ClusterUnavailable, ClusterRefused: the API server does not answer, or refuses.
    """
    cluster, incarnation, namespace = (
        _required(environment, f"FORESAIL_{part}")
        for part in ("CLUSTER", "INCARNATION", "NAMESPACE")
    )
    await require_rights("logins", transport, RIGHTS, own=namespace)
    routes = [name for name in environment.get("FORESAIL_NATS_ROUTES", "").split(",") if name]
    declaration = StreamDeclaration.of(cluster, incarnation)
    known, version = await _read(transport, namespace, LOGINS)
    logins = login_texts(known, IDENTITIES)
    server = server_texts(logins, IDENTITIES, declaration, cluster, routes)
    before, server_version = await _read(transport, namespace, ACCOUNTS)
    if logins != known:
        await _write(transport, namespace, LOGINS, logins, version)
    if server != before:
        await _write(transport, namespace, ACCOUNTS, server, server_version)
    if file := environment.get(FILE_VARIABLE):
        write_private(Path(file), logins[f"{BOOTSTRAP}.env"])
    kept = len(known.keys() & logins.keys())
    return f"logins: {kept} kept, {len(logins) - kept} new; accounts {'kept' if server == before else 'written'}"


async def _read(transport: Transport, namespace: str, name: str) -> tuple[Texts, str]:
    """Return a Secret's texts and version; nothing where there is none."""
    try:
        answer = await transport.request("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}")
    except ClusterRefused as error:
        if error.status == 404:
            return {}, ""
        raise
    content = json.loads(answer.body)
    data = content.get("data") or {}
    texts = {key: base64.b64decode(text).decode() for key, text in data.items()}
    return texts, str(content["metadata"]["resourceVersion"])


async def _write(
    transport: Transport, namespace: str, name: str, texts: Texts, version: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/secrets"
    labels = {"app.kubernetes.io/part-of": "foresail"}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**metadata, **({"resourceVersion": version} if version else {})},
        "type": "Opaque",
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()},
    }
    if version:
        await transport.request("PUT", f"{path}/{name}", {}, body)
    else:
        await transport.request("POST", path, {}, body)


def _required(environment: Mapping[str, str], variable: str) -> str:
    if not environment.get(variable):
        raise ConfigError(variable, "(unset)", "set it")
    return environment[variable]


async def _run(environment: Mapping[str, str]) -> str:
    kubeconfig = environment.get("FORESAIL_KUBECONFIG") or environment.get("KUBECONFIG")
    transport = OfficialClientTransport(Path(kubeconfig) if kubeconfig else None)
    try:
        return await keep_secrets(environment, transport)
    finally:
        await transport.close()


def main(environment: Mapping[str, str]) -> int:
    """Keep the Secrets; 2 for bad input and missing rights, 1 where the cluster does not let us."""
    try:
        done = asyncio.run(_run(environment))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.BAD_INPUT
    except ForesailError as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.FAILED
    sys.stdout.write(f"{done}\n")
    return ExitCode.GOOD


if __name__ == "__main__":
    sys.exit(main(os.environ))  # noqa: TID251 - the last frame reads the environment
