"""The scripted incidents of examples/incidents, played on virtual time, with the twin's own account."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from docs.make_screens import settings_of
from foresail.log_source import RecordingSource
from foresail.stack import virtual
from foresail.timeline import read_history
from projections.incidents.chain import incidents
from projections.incidents.incident import Incident, Lane, Step
from tests.builders import START_SECONDS
from twin.port.api import InProcessTwin


@dataclass(frozen=True)
class Played:
    """A run: its recording, its incidents, and the cluster after it."""

    recording: Path
    incidents: list[Incident]
    twin: InProcessTwin

    @property
    def incident(self) -> Incident:
        """The one incident there is."""
        (found,) = self.incidents
        return found

    def steps(self, lane: Lane, word: str = "") -> list[Step]:
        """Return the steps of a lane that say a word."""
        return [step for step in self.incident.steps if step.lane is lane and word in step.text]

    def kube_event_times(self, reason: str, name: str = "") -> dict[str, float]:
        """Return the first time of each object about which the twin wrote a KubeEvent."""
        found: dict[str, float] = {}
        for event in self.twin.engine.store.list("events"):
            about = str(event["involvedObject"]["name"])
            if event["reason"] == reason and name in about:
                at = seconds_of(event["firstTimestamp"])
                found[about] = min(at, found.get(about, at))
        return found

    def creation_times(self) -> dict[str, float]:
        """Return when each pod was created, as the controllers said."""
        found = {}
        for event in self.twin.engine.store.list("events"):
            if event["reason"] == "SuccessfulCreate":
                pod = str(event["message"]).rpartition(" ")[2]
                found[pod] = seconds_of(event["firstTimestamp"])
        return found

    def waits(self) -> dict[str, float]:
        """Return how long each pod waited for its node, as the controllers and scheduler said."""
        scheduled, created = self.kube_event_times("Scheduled"), self.creation_times()
        return {pod: scheduled[pod] - at for pod, at in created.items() if pod in scheduled}


def seconds_of(stamp: Any) -> float:
    """Return a time of the API as seconds after the start."""
    return datetime.fromisoformat(str(stamp)).timestamp() - START_SECONDS


@cache
def play_incident(name: str) -> Played:
    """Play an incident once for all tests."""
    path = Path(mkdtemp(prefix="timeline-")) / f"{name}.fslog"
    kept: list[InProcessTwin] = []

    class Kept(InProcessTwin):
        """Stays at hand."""

        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            kept.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(virtual, "InProcessTwin", Kept)
        virtual.run_virtual_stack(settings_of(name, path), quiet=True)
    history = asyncio.run(read_history(RecordingSource(path), None))
    return Played(path, incidents(history), kept[0])


def since_start(at_seconds: float) -> float:
    """Return a cluster time as seconds after the start."""
    return at_seconds - START_SECONDS
