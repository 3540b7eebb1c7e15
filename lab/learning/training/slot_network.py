"""A policy that scores every job of the queue by one and the same small network, beside the cluster's numbers.

A flat network has to learn for each slot anew what a short job is; this one learns it once, and its size does not grow
with the slots (as the kernel network of RLScheduler, Zhang et al., SC'20). The action to wait is scored by the
cluster's numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from lab.learning.libraries import library

WAITING_UNITS = 16
VALUE_UNITS = 64


def slot_policy(masked: bool, cluster_numbers: int, slots: int, layers: Sequence[int]) -> Any:
    """Return a policy class of the libraries.

    Args:
        masked: whether sb3-contrib's class is the base, which knows masks.
        cluster_numbers: that an observation begins with; the rest is the slots'.
        slots: jobs that are shown.
        layers: hidden units of the network that scores a job.
    """
    name = "sb3_contrib.common.maskable.policies" if masked else "stable_baselines3.common.policies"
    kind = "MaskableActorCriticPolicy" if masked else "ActorCriticPolicy"
    base = getattr(library(name), kind)
    nn = library("torch").nn

    def build_extractor(self: Any) -> None:
        numbers = (self.features_dim - cluster_numbers) // slots
        self.mlp_extractor = scorer(cluster_numbers, slots, numbers, tuple(layers))

    def build(self: Any, schedule: Any) -> None:
        base._build(self, schedule)  # noqa: SLF001 - the libraries' own way to change a policy's parts
        self.action_net = nn.Identity()  # the scores are the logits
        rate = schedule(1)
        self.optimizer = self.optimizer_class(self.parameters(), lr=rate, **self.optimizer_kwargs)

    return type("SlotPolicy", (base,), {"_build_mlp_extractor": build_extractor, "_build": build})


def scorer(cluster_numbers: int, slots: int, numbers: int, layers: tuple[int, ...]) -> Any:
    """Return the module with the scores of slots and of waiting, and with what the value is computed from."""
    torch = library("torch")
    nn = torch.nn
    wide = cluster_numbers + numbers

    def rows(features: Any) -> Any:
        """Return each slot's row, the cluster's numbers first: batch x slots x (cluster + job)."""
        cluster = features[:, :cluster_numbers]
        jobs = features[:, cluster_numbers:].reshape(-1, slots, numbers)
        return torch.cat([cluster[:, None, :].expand(-1, slots, -1), jobs], dim=2)

    def forward_actor(self: Any, features: Any) -> Any:
        of_slots = self.slots(rows(features)).squeeze(-1)
        return torch.cat([of_slots, self.waiting(features[:, :cluster_numbers])], dim=1)

    def forward_critic(self: Any, features: Any) -> Any:
        return torch.cat([self.seen(rows(features)).mean(dim=1), features[:, :cluster_numbers]], 1)

    def forward(self: Any, features: Any) -> Any:
        return forward_actor(self, features), forward_critic(self, features)

    methods = {"forward": forward, "forward_actor": forward_actor, "forward_critic": forward_critic}
    module = type("SlotScorer", (nn.Module,), methods)()
    module.slots = _stack(nn, (wide, *layers, 1))
    module.waiting = _stack(nn, (cluster_numbers, WAITING_UNITS, 1))
    module.seen = nn.Sequential(nn.Linear(wide, VALUE_UNITS), nn.ReLU())
    module.latent_dim_pi, module.latent_dim_vf = slots + 1, VALUE_UNITS + cluster_numbers
    return module


def _stack(nn: Any, sizes: Sequence[int]) -> Any:
    parts: list[Any] = []
    for inputs, outputs in pairwise(sizes):
        parts += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*parts[:-1])
