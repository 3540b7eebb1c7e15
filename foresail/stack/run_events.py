"""Events of the stack itself: the effective settings, the data source, the start and
the end of the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from bus.errors import ForesailError
from bus.follow import Publisher
from bus.port import Bus
from foresail.run_log import how_it_ended, manifest_of
from foresail.settings import StackSettings
from foresail.stack.watch import Watch
from foresail.stack.workload import ChosenWorkload
from schemas.config import CODE_VERSION, Config, config_hash
from schemas.envelope import NewEvent
from schemas.identity import Origin
from schemas.run import RunComplete, RunDataSource, RunError, RunManifest, RunStage

PRODUCER = "stack"
LOCAL_ONLY = {
    "run": {
        "state_folder",
        "record",
        "data",
        "kubeconfig",
        "context",
        "virtual_time",
        "keep",
        "frozen_seconds",
    },
    "collector": {"history_files", "history_source"},  # its events say what was filled in
    "nats": {"url", "port", "sync_interval", "replicas"},
    "dashboard": {"host", "port", "users_file", "tls_certificate", "tls_key", "compare"},
    "inference": {"model", "demand_model", "shadow_models"},
    "agents": {"risk_model", "demand_model"},
}
"""Settings that cannot change a result, or that name paths, hosts or users: never in the log.

Models may be named by folder; each process announces them by id.
"""
FILES = ("workload", "scenario", "machines")
"""Settings of a run that may name a file: announced without its folder."""


LOCAL_SUMMARY = frozenset({"record", "latency_ms", "given_back_text"})
"""What a summary says of this machine, or of objects by their names."""


def announced_settings(settings: StackSettings) -> dict[str, Any]:
    """Return every setting that can change a result, the same wherever its files lie."""
    announced = {
        name: group.model_dump(mode="json", exclude=LOCAL_ONLY.get(name, set()))
        for name, group in settings.groups.items()
    }
    run = announced["run"]
    run |= {name: Path(run[name]).name for name in FILES if run[name] is not None}
    return announced


async def announce_start(
    bus: Bus,
    origin: Origin,
    settings: StackSettings,
    workload: ChosenWorkload | None,
    time_seconds: float,
) -> None:
    """Publish the stack's settings, where its cluster comes from, and that it starts."""
    values = announced_settings(settings)
    if workload is not None:
        values["run"]["speed"] = workload.speed
    publisher = Publisher(bus, origin, PRODUCER)
    digest = config_hash(values, CODE_VERSION)
    await publisher.publish_config(
        Config(process=PRODUCER, settings=values, config_hash=digest, code_version=CODE_VERSION),
        time_seconds,
    )
    kind = "kubernetes" if workload is None else workload.kind
    name = "kubernetes" if workload is None else settings.run.workload.rsplit("/", 1)[-1]
    detail = () if workload is None else workload.description
    source = RunDataSource(
        run_id=origin.incarnation, process=PRODUCER, kind=kind, name=name, detail=detail
    )
    stage = RunStage(run_id=origin.incarnation, process=PRODUCER, stage="live", status="started")
    await publisher.publish([NewEvent(source, 0, time_seconds)])
    await publisher.publish([NewEvent(stage, 0, time_seconds)])


async def announce_manifest(
    bus: Bus, origin: Origin, settings: StackSettings, words: Sequence[str], time_seconds: float
) -> None:
    """Publish what a run in real time was started with; a virtual run's log depends on its settings alone."""
    groups = {name: getattr(group, "seed", None) for name, group in settings.groups.items()}
    seeds = {f"{name}.seed": seed for name, seed in groups.items() if type(seed) is int}
    fields = {**manifest_of(words, {}), "seeds": seeds}
    data = RunManifest(run_id=origin.incarnation, process=PRODUCER, **fields)
    await Publisher(bus, origin, PRODUCER).publish([NewEvent(data, 0, time_seconds)])


async def run_error(
    bus: Bus, origin: Origin, text: str, sequence: int, time_seconds: float
) -> None:
    """Publish that something failed which people should see; `sequence` counts them in this run."""
    data = RunError(run_id=origin.incarnation, process=PRODUCER, sequence=sequence, text=text)
    await Publisher(bus, origin, PRODUCER).publish([NewEvent(data, 0, time_seconds)])


async def run_complete(
    bus: Bus, origin: Origin, summary: dict[str, Any], time_seconds: float, status: str
) -> None:
    """Publish the end of the stage live, and of the run with its summary (without what belongs to this machine)."""
    ended: Literal["complete", "interrupted"] = (
        "interrupted" if status == "interrupted" else "complete"
    )
    detail = "" if ended == "complete" else ended
    await _publish_end(bus, origin, ended, ("complete", detail), summary, time_seconds)


async def run_failed(
    bus: Bus,
    origin: Origin,
    error: BaseException,
    watch: Watch,
    time_seconds: float,
    sequence: int = 1,
) -> None:
    """Publish that an exception ended the stage live and the run, and which; let the recording have it, too.

    Where that cannot be told, the exception alone is what people see.

    Args:
        bus: of the stack.
        origin: of its events.
        error: what ended it.
        watch: which counted what there was; it reads no more by itself.
        time_seconds: of the cluster.
        sequence: as of `run_error`.
    """
    status, reason = how_it_ended(error)
    with contextlib.suppress(ForesailError):
        if status == "failed":
            await run_error(bus, origin, reason, sequence, time_seconds)
        stage: tuple[Literal["failed"], str] = ("failed", reason)
        await _publish_end(bus, origin, status, stage, watch.totals.summary(), time_seconds)
        await watch.finish()


async def _publish_end(
    bus: Bus,
    origin: Origin,
    status: Literal["complete", "interrupted", "failed"],
    stage: tuple[Literal["complete", "failed"], str],
    summary: dict[str, Any],
    time_seconds: float,
) -> None:
    kept = {name: value for name, value in summary.items() if name not in LOCAL_SUMMARY}
    of_stage = RunStage(
        run_id=origin.incarnation,
        process=PRODUCER,
        sequence=1,  # 0 said that it began
        stage="live",
        status=stage[0],
        progress_ratio=1.0 if stage[0] == "complete" else 0.0,
        detail=stage[1],
        samples=kept.get("cycles", 0),
    )
    data = RunComplete(run_id=origin.incarnation, process=PRODUCER, status=status, summary=kept)
    publisher = Publisher(bus, origin, PRODUCER)
    await publisher.publish([NewEvent(of_stage, 0, time_seconds)])
    await publisher.publish([NewEvent(data, 0, time_seconds)])
