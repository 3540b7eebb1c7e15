"""The shape of a fitted workload model: what the repository ships instead of traces.

Problem: a fresh clone must run on a real workload, and trace files may not travel with it.
Guarantee: a model holds figures only (mixes, rates, quantiles), says which files they were
fitted from and under which licence, and is checked field by field when read.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from twin.workloads.arrival import LONGEST_WINDOWS

HOURS_PER_DAY = 24

Kind = Literal["service", "task"]
Outcome = Literal["succeed", "fail", "run"]


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceFile(_Figures):
    """One trace file that the figures were computed from."""

    path: str
    sha256: str
    used_for: str
    rows: int = Field(default=0, ge=0)


class Provenance(_Figures):
    """Where the figures come from and what may be done with them."""

    title: str
    publisher: str
    licence: str
    licence_url: str
    attribution: str
    changes: list[str]
    files: list[SourceFile]


class NodeRow(_Figures):
    """One machine shape and how many machines of the trace have it."""

    name: str
    cpu_millicores: int = Field(gt=0)
    memory_bytes: int = Field(gt=0)
    gpus: int = Field(ge=0)
    labels: dict[str, str]
    weight: int = Field(gt=0)


class RequestRow(_Figures):
    """One joint request and its weight (number of trace rows merged into it)."""

    cpu_millicores: int = Field(ge=0)
    memory_bytes: int = Field(ge=0)
    gpus: int = Field(ge=0)
    weight: int = Field(gt=0)


class BatchRow(_Figures):
    """One batch size (pods of one submission) and how many submissions had about that size."""

    size: int = Field(gt=0)
    weight: int = Field(gt=0)


class Ending(_Figures):
    """How a share of the pods ends, and after how long.

    `run` with quantiles: deleted while running. `run` without: still running at the trace's end.
    """

    outcome: Outcome
    share: float = Field(ge=0, le=1)
    duration_seconds_quantiles: list[float]


class WorkClass(_Figures):
    """Pods that arrive alike: the same kind and priority, one request mix, one set of endings."""

    name: str
    kind: Kind
    priority: int
    share: float = Field(ge=0, le=1)
    batches: list[BatchRow] = Field(min_length=1)
    requests: list[RequestRow] = Field(min_length=1)
    endings: list[Ending] = Field(min_length=1)


class RunningClass(_Figures):
    """Pods of one class that already run when the window opens, with what is left of them."""

    class_name: str
    requests: list[RequestRow] = Field(min_length=1)
    endings: list[Ending] = Field(min_length=1)


class LifeProfile(_Figures):
    """How cpu use moves over a pod's life: factors on its mean in equal parts of its duration."""

    weight: int = Field(gt=0)
    cpu_factors: list[float] = Field(min_length=1, max_length=LONGEST_WINDOWS)


class Usage(_Figures):
    """Usage of pods as a share of their requests, as ratios; a profile is drawn for each pod that ends."""

    source: str
    cpu_ratio_quantiles: list[float] = Field(min_length=2)
    memory_ratio_quantiles: list[float] = Field(min_length=2)
    life_profiles: list[LifeProfile] = []


class FittedModel(_Figures):
    """All figures of one workload; counts and rates hold for `reference_nodes` nodes."""

    format: Literal["foresail-workload-model/1"]
    name: str
    command: str
    trace_nodes: int = Field(gt=0)
    reference_nodes: int = Field(gt=0)
    reference_note: str
    arrivals_per_hour: list[float] = Field(min_length=HOURS_PER_DAY, max_length=HOURS_PER_DAY)
    start_hour: int = Field(ge=0, lt=HOURS_PER_DAY)
    carried_in: int = Field(ge=0)
    nodes: list[NodeRow] = Field(min_length=1)
    classes: list[WorkClass] = Field(min_length=1)
    running: list[RunningClass]
    usage: Usage
    provenance: list[Provenance] = Field(min_length=1)

    @model_validator(mode="after")
    def _running_classes_exist(self) -> Self:
        known = {entry.name for entry in self.classes}
        for entry in self.running:
            if entry.class_name not in known:
                raise ValueError(f"running: class_name {entry.class_name!r} is not in classes")
        return self
