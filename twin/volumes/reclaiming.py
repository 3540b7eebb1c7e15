"""What becomes of a volume whose claim is gone: kept, deleted, or free again."""

from __future__ import annotations

from twin.records import ObjectRecord
from twin.volumes.binding import SIMULATED, VOLUMES, Volumes
from twin.volumes.rules import PROVISIONED_BY, spec_of
from twin.world import World

_DELETABLE = "/tmp/"  # noqa: S108 - the path that the plugin of host paths deletes from
_RECYCLABLE = ("hostPath", "nfs")


def reclaim(world: World, volumes: Volumes, volume: ObjectRecord) -> None:
    """Do with a released volume what its policy says; whoever provisioned it deletes it."""
    policy = spec_of(volume).get("persistentVolumeReclaimPolicy", "Retain")
    if policy == "Delete":
        _delete(world, volumes, volume)
    elif policy == "Recycle":
        if any(name in spec_of(volume) for name in _RECYCLABLE):
            volumes.report(VOLUMES, volume, "VolumeRecycled", "Volume recycled")
            volumes.unbind(volume)
        else:
            text = "No recycler plugin found for the volume!"
            _fail(volumes, volume, "VolumeFailedRecycle", text)


def _delete(world: World, volumes: Volumes, volume: ObjectRecord) -> None:
    spec = spec_of(volume)
    maker = volume.annotations.get(PROVISIONED_BY)
    path = (spec.get("hostPath") or {}).get("path")
    if maker == SIMULATED or (path or "").startswith(_DELETABLE):
        if volume.deletion_at is None:
            world.store.delete(VOLUMES, "", volume.name)
    elif maker or "csi" in spec:
        return  # its provisioner's work
    elif path is not None:
        text = f"host_path deleter only supports /tmp/.+ but received provided {path}"
        _fail(volumes, volume, "VolumeFailedDelete", text)
    else:
        text = "no deletable volume plugin matched"
        text = f'error getting deleter volume plugin for volume "{volume.name}": {text}'
        _fail(volumes, volume, "VolumeFailedDelete", text)


def _fail(volumes: Volumes, volume: ObjectRecord, reason: str, text: str) -> None:
    if (volume.body.get("status") or {}).get("phase") != "Failed":
        volumes.set_volume_phase(volume, "Failed", text)
        volumes.report(VOLUMES, volume, reason, text, warns=True)
