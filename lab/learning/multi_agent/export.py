"""RLlib's modules as policy files: whole numbers, compared with RLlib's own choice on states that were met."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bus.errors import InputError
from lab.learning.environments.agents import AGENTS_V1, AgentsEnv
from lab.learning.export.agreement import MARGIN, RANDOM_SHARE
from lab.learning.export.quantise import layers_of, tanh_table
from lab.learning.libraries import library
from lab.learning.multi_agent.plan import AgentsPlan
from services.agents.learned_actions import KINDS, LETTERS
from services.agents.learned_observation import agent_observation_of, observation_name
from services.learned_policy.card import Agreement, PolicyCard
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import arrays_of, weights_digest
from services.learned_policy.network import ONE, Network, check

LIBRARIES = ("gymnasium", "numpy", "pettingzoo", "ray", "torch")
SPREAD = 0.05
"""Deviation, over a number's own, of what is added to met states so that there are as many as are asked for."""
Vectors = NDArray[np.float32]


def export_agents(
    plan: AgentsPlan, modules: Mapping[str, Any], met: Vectors, steps: int, states: int
) -> Iterator[tuple[str, LearnedPolicy]]:
    """Yield each agent's policy by its letter.

    Args:
        plan: of the training.
        modules: of RLlib, by the agent's letter or `shared`.
        met: observations that were met, a row each.
        steps: of training.
        states: on how many of them, spread a little, each is compared.

    Raises:
        InputError: a policy would act otherwise than RLlib's where that is no near-tie.
    """
    for letter, agent in LETTERS.items():
        shared = plan.sharing == "shared"
        module = modules["shared" if shared else letter]
        arguments = {
            "agent": agent,
            "variant": plan.variant,
            **({"shared": True} if shared else {}),
        }
        layers = layers_of([*module.encoder.actor_encoder.net.mlp, *module.pi.net.mlp])
        network = Network(layers, tanh_table())
        check(layers, network.tanh)
        card = PolicyCard(
            name=f"agents-{plan.sharing}-{letter}", algorithm="PPO (RLlib)", preset="agents",
            environment=AGENTS_V1, arguments=arguments, observation=observation_name(arguments),
            observation_count=network.inputs, kind="choice", action_count=network.outputs, masked=shared,
            seed=plan.seed, steps=steps, hyper_parameters=plan.as_json(), layers=plan.hidden,
            data_sha256={"world": hashlib.sha256(json.dumps(dict(plan.world), sort_keys=True).encode()).hexdigest()},
            weights_sha256=weights_digest(arrays_of(network)),
            versions={name: version(name) for name in LIBRARIES},
        )  # fmt: skip
        policy = LearnedPolicy(card, network)
        spread = _spread(met, states, plan.seed)
        seen = np.array([agent_observation_of(agent, row, arguments) for row in spread])
        compared = _agreement(policy, module, seen, len(KINDS[agent]))
        if compared.differing_elsewhere:
            count = f"{compared.differing_elsewhere} of {compared.states}"
            raise InputError(
                "policy", card.name, f"it acts otherwise than RLlib's in {count} states"
            )
        yield letter, LearnedPolicy(card.model_copy(update={"agreement": compared}), network)


def met_observations(env: AgentsEnv, policy_of: Any, seeds: Sequence[int], random: Any) -> Vectors:
    """Return what is seen while a fifth of the actions is drawn, a row for each cycle."""
    rows = []
    for seed in seeds:
        seen, _ = env.reset(seed=seed)
        while env.agents:
            rows.append(seen["A"])
            chosen = dict(policy_of(seen))
            for name in seen:
                if random.random() < RANDOM_SHARE:
                    chosen[name] = random.randrange(len(KINDS[LETTERS[name]]))
            seen, *_ = env.step(chosen)
    return np.array(rows, dtype=np.float32)


def _spread(met: Vectors, count: int, seed: int) -> Vectors:
    random = np.random.Generator(np.random.PCG64(seed))  # noqa: TID251 - made from a seed
    rows = met[np.arange(count) % len(met)]
    noise = random.standard_normal(rows.shape) * SPREAD * (met.std(axis=0) + 1e-3)
    noise[: len(met)] = 0.0
    spread: Vectors = np.maximum(0.0, rows + noise).astype(np.float32)
    return spread


def _agreement(policy: LearnedPolicy, module: Any, seen: Vectors, actions: int) -> Agreement:
    torch = library("torch")
    with torch.no_grad():
        outputs = module.forward_inference({"obs": torch.as_tensor(seen)})
        theirs = outputs["action_dist_inputs"].numpy().astype(np.float64)[:, :actions]
    ours = policy.network.scores(seen)[:, :actions]
    margin = MARGIN * max(1.0, float(np.median(np.abs(theirs))))
    best_two = np.sort(ours, axis=1)[:, -2:]
    near = (best_two[:, 1] - best_two[:, 0]) < margin * ONE
    differing = ours.argmax(axis=1) != theirs.argmax(axis=1)
    return Agreement(
        states=len(seen), near_ties=int(near.sum()), differing=int(differing.sum()),
        differing_elsewhere=int((differing & ~near).sum()), margin=margin,
        largest_error=float(np.abs(ours / ONE - theirs).max()),
    )  # fmt: skip
