"""Webhooks as their configurations describe them, in the order in which they are asked."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from twin.local_services import local_address
from twin.records import Object
from twin.store import Store

MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"


class NoAddress(Exception):
    """A webhook whose service cannot be reached, and why."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a webhook is called; see `twin.webhooks.answers.Call`."""

    url: str
    server_name: str
    connect_to: str = ""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook."""

    configuration: str
    spec: Object
    """As it is in its configuration, with defaults."""
    mutating: bool

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.spec["name"])

    @property
    def ignores_failure(self) -> bool:
        """Whether a write goes on when the webhook cannot be asked."""
        return self.spec.get("failurePolicy") == "Ignore"

    @property
    def asked_again(self) -> bool:
        """Whether it sees the object again when others have changed it since."""
        return self.spec.get("reinvocationPolicy") == "IfNeeded"

    @property
    def exact(self) -> bool:
        """Whether its rules are about the written version alone."""
        return self.spec.get("matchPolicy") == "Exact"

    @property
    def timeout_seconds(self) -> int:
        """Wall seconds that an answer may take."""
        return int(self.spec.get("timeoutSeconds") or 10)

    @property
    def authority_pem(self) -> str:
        """Whom to trust; empty: the machine's authorities."""
        bundle = self.spec["clientConfig"].get("caBundle") or ""
        return base64.b64decode(bundle).decode("latin-1")

    def address(self, store: Store) -> Address:
        """Return where it is called; raises NoAddress.

        A service is reached by the Endpoints that somebody wrote for it: a process of this machine, on loopback. The
        simulation's own pods have no network.
        """
        client = self.spec["clientConfig"]
        if client.get("url"):
            parts = urlsplit(client["url"])
            return Address(client["url"], parts.hostname or "")
        service = client["service"]
        namespace, name, port = service["namespace"], service["name"], service.get("port") or 443
        host = f"{name}.{namespace}.svc"
        url = f"https://{host}:{port}{_rooted(service.get('path'))}"
        record = store.find("services", namespace, name)
        if record is None:
            raise NoAddress(f'Post "{url}": service "{name}" not found')
        place = local_address(store, namespace, name)
        if place is None:
            why = f'Post "{url}": no endpoints available for service "{name}"'
            raise NoAddress(f"{why} on this machine (write its Endpoints with a loopback address)")
        return Address(url, host, place)


def hooks_of(store: Store, resource: str) -> list[Webhook]:
    """Return the webhooks of one kind of configuration, by the configurations' names."""
    found = []
    for record in store.records(resource):
        body: Any = getattr(record, "body", {})
        found += [
            Webhook(record.name, spec, resource == MUTATING) for spec in body.get("webhooks") or ()
        ]
    return found


def _rooted(path: str | None) -> str:
    return f"/{(path or '').lstrip('/')}"
