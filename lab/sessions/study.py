"""Runs a search as an Optuna study: trials are jobs on an engine, and none that fails is passed over in silence."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from bus.errors import InputError, Permanent
from lab.sessions.attempts import JobStart, attempt_of
from lab.sessions.engines.port import Attempt, Ending, Engine, NoResult, NotSubmitted
from lab.sessions.limits import Limits
from lab.sessions.payloads import ExperimentPayload
from lab.sessions.results import figure_of, read_result
from lab.sessions.search import LEAST_FAILED, Dimension, Search, names_of
from schemas.expressions import compile_expression
from schemas.session import EndedTrial, JobTraining, PlannedJob

BASELINE = "baseline"
HELD = "constraints_hold"


class TooManyFailed(Permanent):
    """So many trials failed that the study says nothing."""


@dataclass(frozen=True, slots=True)
class Best:
    """A trial that no other one beats, and for which every constraint holds."""

    number: int
    values: tuple[float, ...]
    parameters: dict[str, Any]


@dataclass(slots=True)
class StudyState:
    """How a study stands."""

    study: str
    trials: int
    completed: int = 0
    failed: int = 0
    pruned: int = 0
    best: list[Best] = field(default_factory=list)
    baseline: dict[str, Any] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    """Why trials failed, in order."""
    trainings: list[JobTraining] = field(default_factory=list)
    """What the trials of this run that trained came to."""
    history: list[EndedTrial] = field(default_factory=list)
    """Trials that have ended since `on_change` was told before."""

    @property
    def done(self) -> int:
        """Trials that have ended, however."""
        return self.completed + self.failed + self.pruned


def load_optuna() -> Any:
    """Return Optuna; raises InputError where the extra is not installed."""
    try:
        optuna = import_module("optuna")
    except ImportError as error:
        raise InputError("tune", "optuna", "install it: pip install 'foresail[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class StudyRunner:
    """One run of a study; the study itself is in its storage and goes on from there."""

    def __init__(
        self,
        search: Search,
        engine: Engine,
        start: JobStart,
        limits: Limits,
        folder: Path,
        storage: str,
        on_change: Callable[[StudyState], Awaitable[None]] | None = None,
    ) -> None:
        """Keep results of trials in `folder`, and the study in `storage`, an Optuna URL.

        `on_change` hears how the study stands after each trial.
        """
        self._optuna = load_optuna()
        self._search = search
        self._engine = engine
        self._start = start
        self._limits = limits
        self._folder = folder
        self._on_change = on_change
        self._running: dict[str, tuple[Any, Attempt, int]] = {}
        self._known: set[int] = set()
        self._ended = 0
        self.study = self._create(storage)
        self.state = StudyState(search.study, search.trials)

    async def run(self) -> StudyState:
        """Play the baseline, then trials until there are enough, and return how the study stands.

        Raises:
            TooManyFailed: a larger share failed than the search allows.
            NoResult: the baseline has no result.
            EngineLost: the engine is gone; the same study goes on later.
        """
        self._take_back_unfinished()
        endings = self._engine.watch()
        await self._submit(None, BASELINE, dict(self._search.fixed), self._last_rung())
        self.state.baseline = await self._first(await anext(endings))
        self._known = {trial.number for trial in self.study.trials if trial.state.is_finished()}
        await self._count()
        while self._running or self._left() > 0:
            while self._left() > 0 and len(self._running) < self._limits.max_parallel:
                await self._ask()
            if not self._running:
                continue
            await self._end(await anext(endings))
            await self._count()
            self._check_failed()
        return self.state

    # ---- trials

    def _create(self, storage: str) -> Any:
        search = self._search
        pruner = self._optuna.pruners.MedianPruner(n_startup_trials=5, n_min_trials=3)
        try:
            study = self._optuna.create_study(
                study_name=search.study,
                storage=storage,
                load_if_exists=True,
                directions=[objective.direction for objective in search.objectives],
                sampler=sampler_of(search),
                pruner=pruner,
            )
        except (ValueError, ImportError, self._optuna.exceptions.OptunaError) as error:
            remedy = f"give a URL that Optuna takes, as sqlite:///study.db ({error})"
            raise InputError("--storage", storage, remedy) from error
        self._check_same(study)
        if search.sampler == "grid" and not study.trials:
            for combination in search.grid():
                study.enqueue_trial(combination)
        return study

    def _check_same(self, study: Any) -> None:
        """Refuse to go on with a study of another search: its trials say nothing of this one."""
        wanted = self._search.model_dump_json(exclude={"trials", "most_failed_ratio"})
        digest = hashlib.sha256(wanted.encode()).hexdigest()
        known = study.user_attrs.get("search")
        if known is None and not study.trials:
            study.set_user_attr("search", digest)
        elif known != digest:
            remedy = "another search has this name there; give the study another one"
            raise InputError("study", self._search.study, remedy)

    def _take_back_unfinished(self) -> None:
        """Fail the trials that an earlier run was killed over: nobody plays them."""
        for trial in self.study.get_trials(states=(self._optuna.trial.TrialState.RUNNING,)):
            self.study.tell(trial.number, state=self._optuna.trial.TrialState.FAIL)
            if self._search.sampler == "grid":
                self.study.enqueue_trial(trial.params)

    def _left(self) -> int:
        return self._search.trials - self.state.done - len(self._running)

    async def _ask(self) -> None:
        trial = self.study.ask(distributions_of(self._search))
        await self._play(trial, 0)

    async def _play(self, trial: Any, rung: int) -> None:
        rungs = self._search.rungs
        seeds = rungs[rung] if rungs else None
        config = {**self._search.fixed, **trial.params}
        name = f"{self._search.study}-{trial.number:04d}" + (f"-{rung}" if rungs else "")
        try:
            await self._submit(trial, name, config, seeds, rung)
        except NotSubmitted as error:
            self._fail(trial, str(error))
            await self._count()

    async def _submit(
        self, trial: Any, name: str, config: dict[str, Any], seeds: int | None, rung: int = 0
    ) -> None:
        payload = self._search.payload
        if seeds is not None and isinstance(payload, ExperimentPayload):
            payload = payload.model_copy(update={"seeds": seeds})
        output = self._folder / f"{name}.json"
        job = PlannedJob(job_id=name, config=config, output_json=str(output))
        attempt = attempt_of(job, 1, payload, self._start, self._limits)
        self._running[attempt.name] = (trial, attempt, rung)
        try:
            await self._engine.submit(attempt)
        except NotSubmitted:
            del self._running[attempt.name]
            raise

    def _last_rung(self) -> int | None:
        return self._search.rungs[-1] if self._search.rungs else None

    async def _first(self, ending: Ending) -> dict[str, Any]:
        """Return the baseline's metrics."""
        _, attempt, _ = self._running.pop(ending.name)
        if ending.exit_code != 0:
            why = ending.reason or " ".join(ending.log_tail) or f"exit code {ending.exit_code}"
            raise NoResult(f"the baseline, which all trials are compared with, failed: {why}")
        content = read_result(
            await self._engine.collect(attempt), self._search.objectives[0].figure
        )
        return dict(content.content.get("metrics") or {})

    async def _end(self, ending: Ending) -> None:
        trial, attempt, rung = self._running.pop(ending.name)
        if ending.exit_code != 0:
            last = ending.log_tail[-1] if ending.log_tail else f"exit code {ending.exit_code}"
            self._fail(trial, ending.reason or last)
            return
        try:
            data = await self._engine.collect(attempt)
            result = read_result(data, self._search.objectives[0].figure)
        except NoResult as error:
            self._fail(trial, str(error))
            return
        if result.training is not None:
            self.state.trainings.append(result.training)
        names = names_of(result.content, self.state.baseline)
        values = [figure_of(names, objective.figure) for objective in self._search.objectives]
        missing = [
            objective.figure
            for objective, value in zip(self._search.objectives, values, strict=True)
            if value is None
        ]
        if missing:
            self._fail(trial, f"its result has no {missing[0]}")
            return
        rungs = self._search.rungs
        if len(values) == 1 and rung + 1 < len(rungs):
            trial.report(values[0], rungs[rung])
            if trial.should_prune():
                self.study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)
                return
            await self._play(trial, rung + 1)
            return
        holds = [compile_expression(text).holds(names) for text in self._search.constraints]
        trial.set_user_attr(HELD, all(holds))
        for text, held in zip(self._search.constraints, holds, strict=True):
            trial.set_constraint(text, 0.0 if held else 1.0)
        self.study.tell(trial, values)

    def _fail(self, trial: Any, why: str) -> None:
        trial.set_user_attr("error", why[:500])
        self.study.tell(trial, state=self._optuna.trial.TrialState.FAIL)

    def _check_failed(self) -> None:
        failed, done = self.state.failed, self.state.done
        if failed > LEAST_FAILED and failed > self._search.most_failed_ratio * done:
            raise TooManyFailed(
                f"{failed} of {done} trials failed, the last one: {self.state.errors[-1]}"
            )

    # ---- what is known

    async def _count(self) -> None:
        states = self._optuna.trial.TrialState
        trials = self.study.get_trials(deepcopy=False)
        self.state.completed = sum(trial.state == states.COMPLETE for trial in trials)
        self.state.pruned = sum(trial.state == states.PRUNED for trial in trials)
        failed = [trial for trial in trials if trial.state == states.FAIL]
        # Those that a killed run left were not asked to the end, and say nothing of the space.
        failed = [trial for trial in failed if "error" in trial.user_attrs]
        self.state.failed = len(failed)
        self.state.errors = [trial.user_attrs["error"] for trial in failed]
        self.state.best = self._best(trials)
        for trial in trials:
            if trial.state.is_finished() and trial.number not in self._known:
                self._known.add(trial.number)
                self._ended += 1
                self.state.history.append(_ended(trial, self._ended))
        if self._on_change is not None:
            await self._on_change(self.state)
        self.state.history.clear()

    def _best(self, trials: list[Any]) -> list[Best]:
        """Return the trials that nothing beats among those for which the constraints hold."""
        complete = self._optuna.trial.TrialState.COMPLETE
        held = [one for one in trials if one.state == complete and one.user_attrs.get(HELD)]
        signs = [1.0 if one.direction == "maximize" else -1.0 for one in self._search.objectives]

        def worth(trial: Any) -> tuple[float, ...]:
            return tuple(sign * value for sign, value in zip(signs, trial.values, strict=True))

        def beaten(trial: Any) -> bool:
            mine = worth(trial)
            return any(
                worth(other) != mine
                and all(a >= b for a, b in zip(worth(other), mine, strict=True))
                for other in held
            )

        front = [trial for trial in held if not beaten(trial)]
        front = front[:1] if len(signs) == 1 else front
        return [Best(one.number, tuple(one.values), dict(one.params)) for one in front]


def _ended(trial: Any, run_trial: int) -> EndedTrial:
    name = trial.state.name
    return EndedTrial(
        trial=trial.number,
        run_trial=run_trial,
        state="complete" if name == "COMPLETE" else "pruned" if name == "PRUNED" else "failed",
        value=tuple(trial.values) if name == "COMPLETE" else (),
        params=dict(trial.params),
    )


def sampler_of(search: Search) -> Any:
    """Return Optuna's sampler of a search, seeded by it."""
    samplers, seed = load_optuna().samplers, search.seed
    match search.sampler:
        case "tpe":
            return samplers.TPESampler(seed=seed)
        case "cma-es":
            return samplers.CmaEsSampler(seed=seed)
        case "nsga-ii":
            return samplers.NSGAIISampler(seed=seed, population_size=12)
        case "random" | "grid":  # a grid's combinations wait in the study already
            return samplers.RandomSampler(seed=seed)


def distributions_of(search: Search) -> dict[str, Any]:
    """Return the space of a search in Optuna's terms, by name."""
    return {dimension.name: _distribution(dimension) for dimension in search.space}


def _distribution(dimension: Dimension) -> Any:
    made = load_optuna().distributions
    if dimension.choices:
        return made.CategoricalDistribution(dimension.choices)
    low, high, step = dimension.low, dimension.high, dimension.step
    if dimension.whole:
        return made.IntDistribution(low, high, log=dimension.log, step=int(step or 1))
    return made.FloatDistribution(low, high, log=dimension.log, step=step)


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Return parameters as `name = value`, one after the other."""
    return ", ".join(f"{name} = {value}" for name, value in parameters.items())
