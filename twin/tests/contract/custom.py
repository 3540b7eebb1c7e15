"""Definitions of custom resources for the contract suite, each in a group of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from itertools import count
from typing import Any

from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import MERGE, Answer, Face

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_numbers = count(1)

Schema = dict[str, Any]


def object_of(**properties: Schema) -> Schema:
    """Return the schema of an object with these members."""
    return {"type": "object", "properties": properties}


def version(schema: Schema, name: str = "v1", **more: Any) -> dict[str, Any]:
    """Return one version of a definition, served; it is the stored one unless `more` says otherwise."""
    return {
        "name": name,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        **more,
    }


class Custom:
    """One definition, and the paths of what it defines."""

    def __init__(
        self,
        face: Face,
        *versions: dict[str, Any],
        plural: str = "widgets",
        scope: str = "Namespaced",
        **names: Any,
    ) -> None:
        """Think of a definition in a group that nobody else uses; it is created by `create`."""
        self.face = face
        self.group = f"group-{os.getpid()}-{next(_numbers)}.example.com"
        self.plural, self.scope = plural, scope
        self.kind = plural.removesuffix("s").capitalize()
        self.name = f"{plural}.{self.group}"
        self.names = {"plural": plural, "kind": self.kind, **names}
        self.versions = list(versions)

    def body(self) -> dict[str, Any]:
        """Return the definition."""
        spec = {
            "group": self.group,
            "scope": self.scope,
            "names": self.names,
            "versions": self.versions,
        }
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": spec,
        }

    def ask_to_create(self, **query: str) -> Answer:
        """Ask for the definition."""
        return self.face.ask("POST", DEFINITIONS, body=self.body(), query=query)

    def create(self) -> Custom:
        """Create the definition and wait until its objects are served."""
        answer = self.ask_to_create()
        assert answer.status == 201, answer.text
        self.wait(lambda: self.condition("Established") == "True")
        self.wait(lambda: self.face.ask("GET", self.path("default")).status == 200)
        return self

    def wait(self, until: Any) -> None:
        """Wait for something that happens by itself."""
        end = time.monotonic() + HANGS_SECONDS
        while not until():
            assert time.monotonic() < end, self.read().text
            time.sleep(0.05)

    def read(self) -> Answer:
        """Read the definition."""
        return self.face.ask("GET", f"{DEFINITIONS}/{self.name}")

    def condition(self, kind: str) -> str:
        """Return the status of one of its conditions."""
        conditions = (self.read().body.get("status") or {}).get("conditions") or []
        return next((one["status"] for one in conditions if one["type"] == kind), "")

    def path(
        self, namespace: str = "", name: str = "", subresource: str = "", version: str = ""
    ) -> str:
        """Return the path of its objects, of one, or of a subresource."""
        version = version or self.versions[0]["name"]
        inside = f"namespaces/{namespace}" if self.scope == "Namespaced" and namespace else ""
        parts = ["/apis", self.group, version, inside, self.plural, name, subresource]
        return "/".join(part for part in parts if part)

    def object(self, name: str, version: str = "", **parts: Any) -> dict[str, Any]:
        """Return one of its objects."""
        api_version = f"{self.group}/{version or self.versions[0]['name']}"
        return {"apiVersion": api_version, "kind": self.kind, "metadata": {"name": name}, **parts}

    def make(self, namespace: str, name: str, **parts: Any) -> dict[str, Any]:
        """Create one of its objects and return it."""
        answer = self.face.ask("POST", self.path(namespace), body=self.object(name, **parts))
        assert answer.status == 201, answer.text
        made: dict[str, Any] = answer.body
        return made

    def remove(self) -> Answer:
        """Delete the definition."""
        return self.face.ask("DELETE", f"{DEFINITIONS}/{self.name}")


def causes(answer: Answer) -> list[Mapping[str, str]]:
    """Return reason, field and message of what a refusal names."""
    found: list[Mapping[str, str]] = (answer.body.get("details") or {}).get("causes") or []
    return found


def patch(custom: Custom, path: str, body: Any, media: str = MERGE, **query: str) -> Answer:
    """Patch something on the face of a definition."""
    return custom.face.ask("PATCH", path, body=body, content_type=media, query=query)
