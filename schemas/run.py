"""Run: one start of the stack, its stages, data sources, artifacts, trials, errors and end."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from schemas.model import EVERY_PROCESS, EventData, Retention
from schemas.numbers import Count, JsonObject, Ratio, Rounded
from schemas.wording import count_text


class RunData(EventData):
    """Common fields of every event of a run."""

    WRITER: ClassVar[str] = "stack"

    run_id: str
    process: str
    """Who says it."""
    sequence: Count = 0
    """Running number of this kind from this process in this run."""

    def tokens(self) -> tuple[str, ...]:
        """Return `run.<kind>.<process>`."""
        return (*self.PATTERN[:2], self.process)

    def key(self) -> str:
        """Return run, process and running number."""
        return f"{self.run_id}/{self.process}/{self.sequence}"


class RunStage(RunData):
    """A stage of a run and how far it is."""

    TYPE: ClassVar[str] = "foresail.run.stage.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "stage", "*")

    stage: str
    status: Literal["started", "running", "complete", "skipped", "failed"]
    progress_ratio: Ratio = 0.0
    detail: str = ""
    samples: Count | None = Field(default=None, exclude_if=lambda samples: samples is None)
    """What it has read or made so far: rows, trials, events; None where it counts nothing."""

    def line(self) -> str:
        """Return the stage and how far it is."""
        return f"{self.stage} {self.status} {self.detail}".rstrip()


class RunDataSource(RunData):
    """Where the workload or cluster of a run comes from."""

    TYPE: ClassVar[str] = "foresail.run.data_source.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "data_source", "*")
    RETENTION: ClassVar[Retention] = Retention.STANDING

    kind: Literal["fitted_model", "trace_file", "file", "idle", "kubernetes"]
    name: str
    detail: tuple[str, ...] = ()

    def line(self) -> str:
        """Return its kind and name."""
        return f"{self.kind} {self.name}"


class RunManifest(RunData):
    """What a run was started with: enough to do it again."""

    TYPE: ClassVar[str] = "foresail.run.manifest.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "manifest", "*")
    RETENTION: ClassVar[Retention] = Retention.STANDING

    arguments: tuple[str, ...]
    """The words behind `foresail`, without passwords."""
    code_version: str
    git_revision: str = ""
    """Commit of the code, `+changed` behind it where files differed; empty outside a repository."""
    python: str
    packages: dict[str, str] = {}
    """Version by installed package, of those that can change a result."""
    seeds: dict[str, int] = {}
    """Every seed in force, by its argument."""

    def line(self) -> str:
        """Return what was run with which code."""
        revision = f" at {self.git_revision}" if self.git_revision else ""
        return f"foresail {' '.join(self.arguments)}: {self.code_version}{revision}, Python {self.python}"


ArtifactKind = Literal["", "dataset", "history", "model", "recording", "report", "trial"]


class RunArtifact(RunData):
    """A file that a run made."""

    TYPE: ClassVar[str] = "foresail.run.artifact.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "artifact", "*")

    label: str
    file_name: str
    sha256: str = ""
    kind: ArtifactKind = Field(default="", exclude_if=lambda kind: not kind)
    """What it is."""

    def line(self) -> str:
        """Return the file, what it is, and the beginning of its hash."""
        return f"{self.kind or self.label} {self.file_name} {self.sha256[:12]}".rstrip()


class RunTrial(RunData):
    """One trial of a tuning study."""

    TYPE: ClassVar[str] = "foresail.run.trial.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "trial", "*")

    study: str
    trial: Count
    value: Rounded | None
    parameters: JsonObject

    def line(self) -> str:
        """Return the trial and its value."""
        return (
            f"{self.study} trial {self.trial}: {'no value' if self.value is None else self.value}"
        )


class RunEffect(RunData):
    """What one arm of an experiment changes against another on one figure, with its interval."""

    TYPE: ClassVar[str] = "foresail.run.effect.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "effect", "*")

    experiment: str
    arm: str
    reference: str
    """The arm that it is compared with."""
    metric: str
    unit: str
    better: Literal["higher", "lower"]
    """Which way the figure is better."""
    pairs: Count
    """Worlds that both played."""
    arm_mean: Rounded
    reference_mean: Rounded
    difference: Rounded
    """Mean paired difference, arm minus reference."""
    low: Rounded | None
    """Lower limit of the interval; None: too few pairs for one."""
    high: Rounded | None
    confidence_ratio: Ratio
    verdict: Literal["helps", "harms", "unclear", "equal", "too few"]

    def line(self) -> str:
        """Return what the arm does to the figure."""
        return f"{self.experiment}: {self.arm} against {self.reference} on {self.metric}: {self.verdict}"


class RunEvaluation(RunData):
    """One point of a learning curve: how good a policy was after so much training."""

    TYPE: ClassVar[str] = "foresail.run.evaluation.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "evaluation", "*")

    policy: str
    seed: Count
    steps: Count
    """Of training so far; generations, where it is evolved."""
    value: Rounded
    better: Literal["higher", "lower"]
    """Which way the value is better: a mean return is to be high, a cost low."""

    def line(self) -> str:
        """Return the point."""
        return f"{self.policy} seed {self.seed}: {self.value} after {self.steps} steps"


class RunGate(RunData):
    """A gate's answer: whether an arm of an experiment, or a learned policy, may be taken into use."""

    TYPE: ClassVar[str] = "foresail.run.gate.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "gate", "*")

    judged: str
    """The arm or the policy."""
    kind: Literal["arm", "policy"]
    experiment: str
    """What it was judged by."""
    passes: bool
    reasons: tuple[str, ...]
    """Why not; of one that passes, what was shown."""

    def line(self) -> str:
        """Return the answer."""
        return f"{self.kind} {self.judged} {'passes' if self.passes else 'does not pass'} the gate"


class RunError(RunData):
    """Something failed in a way that people should see."""

    TYPE: ClassVar[str] = "foresail.run.error.v1"
    WRITER: ClassVar[str] = EVERY_PROCESS
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "error", "*")

    text: str

    def line(self) -> str:
        """Return what failed."""
        return self.text


class RunComplete(RunData):
    """The run ended, with its summary."""

    TYPE: ClassVar[str] = "foresail.run.complete.v1"
    PATTERN: ClassVar[tuple[str, ...]] = ("run", "complete", "*")

    status: Literal["complete", "interrupted", "failed"]
    summary: JsonObject

    def line(self) -> str:
        """Return how it ended and after how much; not every run counts cycles and events."""
        counts = [
            count_text(count, one)
            for name, one in (("cycles", "cycle"), ("events_total", "event"))
            if isinstance(count := self.summary.get(name), int)
        ]
        return f"{self.status} after {', '.join(counts)}" if counts else self.status
