"""How a run stands: what it was started with, its stages, trials and files, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from projections.figures import percent
from schemas.envelope import Event
from schemas.run import (
    RunArtifact,
    RunComplete,
    RunError,
    RunManifest,
    RunStage,
    RunTrial,
)
from schemas.wording import count_text

KEPT_ERRORS = 20


@dataclass(slots=True)
class RunProgress:
    """A run after the events that were given to `add`."""

    run_id: str = ""
    manifest: RunManifest | None = None
    stages: dict[str, RunStage] = field(default_factory=dict)
    """The newest of each stage, in the order in which they began."""
    artifacts: list[RunArtifact] = field(default_factory=list)
    trials: int = 0
    best: RunTrial | None = None
    """The trial with the highest value."""
    newest: RunTrial | None = None
    errors: list[RunError] = field(default_factory=list)
    complete: RunComplete | None = None

    def add(self, event: Event[Any]) -> None:
        """Take in an event; those of other kinds change nothing."""
        match event.data:
            case RunManifest() as manifest:
                self.run_id, self.manifest = manifest.run_id, manifest
            case RunStage() as stage:
                self.run_id = self.run_id or stage.run_id
                self.stages[stage.stage] = stage
            case RunArtifact() as artifact:
                self.artifacts.append(artifact)
            case RunTrial() as trial:
                self._take_trial(trial)
            case RunError() as error:
                self.errors = [*self.errors, error][-KEPT_ERRORS:]
            case RunComplete() as complete:
                self.complete = complete
            case _:
                pass

    def _take_trial(self, trial: RunTrial) -> None:
        self.trials += 1
        self.newest = trial
        best = None if self.best is None else self.best.value
        if trial.value is not None and (best is None or trial.value > best):
            self.best = trial

    @property
    def failed(self) -> bool:
        """Whether it, or one of its stages, failed."""
        ended = self.complete is not None and self.complete.status == "failed"
        return ended or any(stage.status == "failed" for stage in self.stages.values())

    def warnings(self) -> list[str]:
        """Return what does not fit: a stage that completed without one sample."""
        return [
            f"stage {stage.stage} says that it is complete, but it had 0 samples"
            for stage in self.stages.values()
            if stage.status == "complete" and stage.samples == 0
        ]

    def lines(self) -> list[str]:
        """Return it for people."""
        status = "goes on, or was cut off" if self.complete is None else self.complete.status
        lines = [f"{self.run_id or 'run'}: {status}"]
        if self.manifest is not None:
            lines.append(self.manifest.line())
            named = {
                **self.manifest.packages,
                **{f"--{k}": v for k, v in self.manifest.seeds.items()},
            }
            lines.append(", ".join(f"{name} {value}" for name, value in named.items()))
        for stage in self.stages.values():
            samples = "" if stage.samples is None else f", {count_text(stage.samples, 'sample')}"
            detail = f" ({stage.detail})" if stage.detail else ""
            lines.append(
                f"stage {stage.stage}: {stage.status} {percent(stage.progress_ratio)}{samples}{detail}"
            )
        if self.best is not None:
            lines.append(f"{count_text(self.trials, 'trial')}, best: {self.best.line()}")
        lines += [f"file {artifact.line()}" for artifact in self.artifacts]
        lines += [f"error: {error.text}" for error in self.errors]
        return [*lines, *(f"warning: {text}" for text in self.warnings())]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "run_id": self.run_id,
            "status": None if self.complete is None else self.complete.status,
            "manifest": _plain(self.manifest),
            "stages": [_plain(stage) for stage in self.stages.values()],
            "artifacts": [_plain(artifact) for artifact in self.artifacts],
            "trials": self.trials,
            "best": _plain(self.best),
            "newest": _plain(self.newest),
            "errors": [_plain(error) for error in self.errors],
            "warnings": self.warnings(),
        }


def _plain(data: Any) -> Any:
    return None if data is None else data.model_dump(mode="json")


def run_progress(events: Iterable[Event[Any]]) -> RunProgress:
    """Return how a run stands after events, in their order."""
    progress = RunProgress()
    for event in events:
        progress.add(event)
    return progress
