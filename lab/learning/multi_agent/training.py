"""PPO of RLlib on the three agents, stage by stage; its worlds in this process, or in workers of a Ray cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bus.errors import InputError
from inputs.clock import Clock
from lab.learning.environments.agents import AGENTS_V1
from lab.learning.evaluation.episodes import DEVELOPMENT_SEED
from lab.learning.multi_agent.plan import AgentsPlan, TrainingStage
from lab.learning.multi_agent.worlds import MakeEnv, shared_view
from services.agents.learned_actions import LETTERS

INSTALL = "install it: pip install 'foresail[learn,rllib]'"
SHARED = "shared"
MOST_WORKERS, WORLDS_A_WORKER = 100, 1_000
CURVE, PLAN = "curve.jsonl", "plan.json"


@dataclass(frozen=True, slots=True)
class Iteration:
    """One update."""

    stage: int
    iteration: int
    steps: int
    """Cycles played so far, those of all worlds."""
    mean_return: float | None
    """Of episodes that ended lately, all agents' rewards together; None: none has ended."""
    seconds: float
    """Since the beginning."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where worlds are played."""

    workers: int = 0
    """Processes that play; 0: this one."""
    address: str | None = None
    """Head of a Ray cluster; None: one of this machine alone."""


def rllib(name: str) -> Any:
    """Return a module of Ray; raises InputError where the extra is not installed."""
    from importlib import import_module  # noqa: PLC0415 - with what it imports

    try:
        return import_module(name)
    except ImportError as error:
        raise InputError("package", "ray[rllib]", INSTALL) from error


def train_agents(
    plan: AgentsPlan,
    make: MakeEnv,
    folder: Path,
    cluster: Cluster,
    clock: Clock,
    report: Callable[[Iteration], None],
) -> dict[str, Any]:
    """Train, and return the modules by agent's letter, or one as `shared`; the curve goes to `folder`.

    A stage that has ended lies there whole, and is not trained again.

    Raises:
        InputError: RLlib is not installed, no Ray cluster answers, or the folder has another training.
    """
    _claim(folder, plan)
    kept = [one for one in read_curve(folder) if stage_folder(folder, one.stage).is_dir()]
    begin, steps = clock.monotonic() - _last(kept).seconds, _last(kept).steps
    curve_text = "".join(json.dumps(asdict(one)) + "\n" for one in kept)
    (folder / CURVE).write_text(curve_text, encoding="utf-8")
    learnt: Any = None
    modules: dict[str, Any] = {}
    with _connected(cluster), (folder / CURVE).open("a", encoding="utf-8") as curve:
        rllib("ray.tune.registry").register_env(
            AGENTS_V1,
            lambda context: _environment(plan, make, getattr(context, "worker_index", 0)),
        )

        def note(one: Iteration) -> None:
            nonlocal steps
            whole = replace(
                one, steps=before + one.steps, seconds=round(clock.monotonic() - begin, 3)
            )
            curve.write(json.dumps(asdict(whole)) + "\n")
            curve.flush()
            steps = whole.steps
            report(whole)

        for number, stage in enumerate(plan.stages):
            before = steps
            algorithm = _config(plan, stage, cluster).build_algo()
            try:
                _play_stage(algorithm, stage_folder(folder, number), number, stage, learnt, note)
                learnt = algorithm.learner_group.get_weights()
                modules = {name: algorithm.get_module(name) for name in _policies(plan)}
            finally:
                algorithm.stop()
    return modules


def _play_stage(
    algorithm: Any,
    stored: Path,
    number: int,
    stage: TrainingStage,
    learnt: Any,
    note: Callable[[Iteration], None],
) -> None:
    """Train one stage from the weights of the one before, and store it; or take it as it is stored."""
    if stored.is_dir():
        algorithm.restore_from_path(str(stored))
        return
    if learnt is not None:
        algorithm.learner_group.set_weights(learnt)
        algorithm.env_runner_group.sync_weights(
            from_worker_or_learner_group=algorithm.learner_group, inference_only=True
        )
    for iteration in range(stage.train_iters):
        result = algorithm.train()
        mean = result["env_runners"].get("episode_return_mean")
        steps = int(result["num_env_steps_sampled_lifetime"])
        note(Iteration(number, iteration, steps, None if mean is None else float(mean), 0.0))
    unfinished = stored.with_suffix(".partial")
    algorithm.save_to_path(str(unfinished))
    unfinished.rename(stored)


def stage_folder(folder: Path, number: int) -> Path:
    """Return where a stage lies that has ended."""
    return folder.absolute() / f"stage-{number}"


def read_curve(folder: Path) -> list[Iteration]:
    """Return every update that a training has stored."""
    path = folder / CURVE
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Iteration(**json.loads(line)) for line in lines]


def _last(iterations: Sequence[Iteration]) -> Iteration:
    return iterations[-1] if iterations else Iteration(0, 0, 0, None, 0.0)


def _claim(folder: Path, plan: AgentsPlan) -> None:
    """Note whose folder it is; raises InputError where another training has it."""
    folder.mkdir(parents=True, exist_ok=True)
    path, text = folder / PLAN, json.dumps(plan.as_json(), indent=1) + "\n"
    if not path.exists():
        path.write_text(text, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != text:
        remedy = "it holds another training; give another name, or the same arguments"
        raise InputError("--name", folder, remedy)


def _policies(plan: AgentsPlan) -> tuple[str, ...]:
    return (SHARED,) if plan.sharing == "shared" else tuple(LETTERS)


def _environment(plan: AgentsPlan, make: MakeEnv, worker: int) -> Any:
    """Return the worlds of one process: others than those of another process, or another training seed."""
    env = make(1 + (plan.seed * MOST_WORKERS + worker) * WORLDS_A_WORKER % DEVELOPMENT_SEED)
    wrapper = rllib("ray.rllib.env.wrappers.pettingzoo_env").ParallelPettingZooEnv
    return wrapper(shared_view(env) if plan.sharing == "shared" else env)


def _config(plan: AgentsPlan, stage: TrainingStage, cluster: Cluster) -> Any:
    ppo = rllib("ray.rllib.algorithms.ppo")
    module = rllib("ray.rllib.core.rl_module.rl_module")
    multi = rllib("ray.rllib.core.rl_module.multi_rl_module")
    network = rllib("ray.rllib.core.rl_module.default_model_config").DefaultModelConfig(
        fcnet_hiddens=list(plan.hidden), fcnet_activation="tanh", vf_share_layers=False
    )
    names = _policies(plan)

    def policy_of(agent: str, *_: Any, **__: Any) -> str:
        return SHARED if plan.sharing == "shared" else agent

    specs = {name: module.RLModuleSpec(model_config=network) for name in names}
    return (
        ppo.PPOConfig()
        .environment(AGENTS_V1)
        .env_runners(
            num_env_runners=cluster.workers,
            rollout_fragment_length=stage.rollout_fragment_length if cluster.workers else "auto",
        )
        .learners(num_learners=0)
        .training(
            lr=stage.learning_rate,
            gamma=plan.discount,
            train_batch_size_per_learner=stage.train_batch_size,
            minibatch_size=stage.minibatch_size,
            num_epochs=stage.num_epochs,
        )
        .multi_agent(policies=set(names), policy_mapping_fn=policy_of)
        .rl_module(rl_module_spec=multi.MultiRLModuleSpec(rl_module_specs=specs))
        .debugging(seed=plan.seed, log_level="ERROR")
    )


@contextmanager
def _connected(cluster: Cluster) -> Iterator[None]:
    ray = rllib("ray")
    # Everything of RLlib that is used, so that a missing part is named before a cluster starts.
    rllib("ray.rllib.algorithms.ppo")
    try:
        # One CPU more than there are workers, for the learner.
        count = None if cluster.address else max(2, cluster.workers + 1)
        ray.init(
            address=cluster.address, num_cpus=count, include_dashboard=False,
            log_to_driver=False, logging_level="ERROR",
        )  # fmt: skip
    except ConnectionError as error:
        remedy = f"no Ray cluster answers there ({error}); start one with `ray start --head`"
        raise InputError("--ray-address", cluster.address, remedy) from error
    try:
        yield
    finally:
        ray.shutdown()
