"""A searched policy as the file that agents read: whole numbers, and a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from lab.learning.comparison.learned_rule import ENVIRONMENT, View
from lab.learning.export.export import data_digests
from lab.learning.export.quantise import tanh_table, whole
from lab.learning.observation import WIDE_CLUSTER_NUMBERS
from lab.learning.search.scoring import Floats, scorer_of
from lab.learning.search.search import Found, SearchPlan
from services.learned_policy.card import PolicyCard
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import arrays_of, weights_digest
from services.learned_policy.network import Layer, Network, check

ALGORITHM = "CMA-ES"


def network_of_weights(weights: Floats, units: int, slots: int) -> Network:
    """Return the network in whole numbers; waiting is scored 0, as the search has it."""
    scorer = scorer_of(weights, units)
    hidden = np.concatenate([scorer.of_cluster, scorer.of_job], axis=1)
    layers = (
        Layer(whole(hidden), whole(scorer.bias), "relu"),
        Layer(whole(scorer.out[None, :]), whole(scorer.out_bias), "none"),
    )
    nothing = np.zeros((1, WIDE_CLUSTER_NUMBERS), np.int64)
    waiting = (Layer(nothing, np.zeros(1, np.int64), "none"),)
    tanh = tanh_table()
    check(layers, tanh)
    return Network(layers, tanh, slots=slots, waiting=waiting)


def policy_of(
    found: Found, plan: SearchPlan, name: str, workload: str, options: Mapping[str, Any]
) -> LearnedPolicy:
    """Return what was found as a policy.

    Args:
        found: the weights.
        plan: of the search.
        name: that the policy is to have.
        workload: whose streams were played.
        options: of their source.
    """
    network = network_of_weights(found.weights, plan.units, plan.slots)
    arguments = {"variant": "score", "workload": workload, "slots": plan.slots, **options}
    card = PolicyCard(
        name=name,
        algorithm=ALGORITHM,
        preset="foresail",
        environment=ENVIRONMENT,
        arguments=arguments,
        observation=View.of(arguments).name,
        observation_count=network.inputs,
        kind="choice",
        action_count=network.outputs,
        masked=True,
        seed=plan.seed,
        steps=found.played,
        hyper_parameters=asdict(plan),
        layers=(plan.units,),
        data_sha256=data_digests(arguments),
        weights_sha256=weights_digest(arrays_of(network)),
        development_return=-found.cost,
        versions={library: version(library) for library in ("cmaes", "numba", "numpy")},
    )
    return LearnedPolicy(card, network)
