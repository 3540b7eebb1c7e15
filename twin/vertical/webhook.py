"""The admission webhook: new pods get what is recommended.

Source: admission-controller/resource/pod/patch. A pod that gets other requests than its author gave it is
told of them by an annotation (foresail.dev/usage-requests), because what a simulated program uses is said
in parts of its request.
"""

from __future__ import annotations

from twin.behaviour.pod_work import USAGE_REQUESTS
from twin.kinds import Kind
from twin.needs import total_request
from twin.provisioners.client import Client
from twin.records import Object
from twin.vertical.objects import (
    RESOURCE,
    controlling_object,
    merged,
    update_mode,
    wanted_resources,
)

_UPDATES, _OBSERVED = "vpaUpdates", "vpaObservedContainers"


class Webhook:
    """A gate of the store that changes new pods."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def prepare(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Write the recommendation into a new pod that an object controls."""
        if kind.resource != "pods" or not self._client.count(RESOURCE):
            return
        head = obj["metadata"]
        owners = head.get("ownerReferences") or ()
        owner = next((entry for entry in owners if entry.get("controller")), None)
        vpa = controlling_object(self._client, namespace, head.get("labels") or {}, owner)
        containers = obj.get("spec", {}).get("containers")
        if vpa is None or not isinstance(containers, list):
            return
        names = [str(container.get("name", "")) for container in containers]
        notes = {**(head.get("annotations") or {}), _OBSERVED: ", ".join(names)}
        head["annotations"] = notes
        if update_mode(vpa) == "Off":
            return
        resources = {entry["name"]: entry.get("resources") or {} for entry in containers}
        wanted = wanted_resources(vpa, resources)
        if not wanted:
            return
        first = {name: total_request(obj["spec"], name) for name in ("cpu", "memory")}
        notes.setdefault(USAGE_REQUESTS, f"cpu={first['cpu']}m,memory={first['memory']}")
        texts = []
        for index, name in enumerate(names):
            if name in wanted:
                containers[index]["resources"] = merged(resources[name], wanted[name])
                fields = [
                    f"{resource} {field.removesuffix('s')}"
                    for field in ("requests", "limits")
                    for resource in sorted(wanted[name].get(field) or ())
                ]
                texts.append(f"container {index}: {', '.join(fields)}")
        notes[_UPDATES] = f"Pod resources updated by {vpa.name}: {'; '.join(texts)}"

    def charge(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        """Refuse nothing: it only changes what is new."""
        del kind, namespace, obj, old, dry_run
