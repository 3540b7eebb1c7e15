"""Which learned policies stand beside the agents' own rules, and which of them act."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bus.errors import ConfigError
from schemas.actions import AgentName
from schemas.model import DataModel

if TYPE_CHECKING:
    from services.learned_policy.card import PolicyCard
    from services.learned_policy.choice import LearnedPolicy

ENVIRONMENT = "Foresail/Agents-v1"
"""What a policy of an agent is trained in."""
MOST_ANNOUNCED = 384 * 1024
"""Bytes of a file that an announcement has room for."""


class LearnedPolicies(DataModel):
    """Files of learned policies by agent.

    Raises:
        ConfigError: a file holds no policy of that agent, or one acts that may only be watched.
    """

    files: dict[AgentName, str] = {}
    """File of `foresail learn export` by agent; it is in shadow unless it is among `acting`."""
    acting: tuple[AgentName, ...] = ()
    """Agents that propose what their policy chooses; refused without a passed gate in its card."""
    packed: dict[AgentName, str] = {}
    """Whole files, base64, as announced; given directly where a recording is run again."""

    def policy(self, agent: AgentName) -> LearnedPolicy | None:
        """Return an agent's policy; None: it has none.

        Raises:
            InputError: the file cannot be read, or is no policy.
        """
        if agent not in self.files and agent not in self.packed:
            return None
        # numpy, which no process loads that has no policy.
        from services.learned_policy.file import policy_from, read_policy  # noqa: PLC0415

        if agent in self.packed:
            return policy_from(base64.b64decode(self.packed[agent]))
        return read_policy(Path(self.files[agent]))

    def check(self, agents: tuple[AgentName, ...], profile: str) -> None:
        """Raise ConfigError for what cannot be used under a profile."""
        for agent in (*self.files, *self.packed):
            if agent not in agents:
                remedy = f"no agent is called so; use some of {', '.join(agents)}"
                raise ConfigError("agents.learned.files", agent, remedy)
            policy = self.policy(agent)
            assert policy is not None
            if policy.card.environment != ENVIRONMENT:
                remedy = f"trained in {policy.card.environment}; give one of {ENVIRONMENT}"
                raise ConfigError(f"agents.learned.files.{agent}", policy.card.name, remedy)
            from services.agents.learned_observation import observation_name  # noqa: PLC0415 - numpy

            if policy.card.observation != observation_name(policy.card.arguments):
                shown = observation_name(policy.card.arguments)
                remedy = f"this version shows {shown}; train and export it anew"
                raise ConfigError(f"agents.learned.files.{agent}", policy.card.observation, remedy)
            trained_for = policy.card.arguments.get("agent")
            if trained_for not in {None, agent}:
                remedy = f"trained for agent {trained_for}; give one of {agent}"
                raise ConfigError(f"agents.learned.files.{agent}", policy.card.name, remedy)
        for agent in self.acting:
            self._check_acting(agent, profile)

    def _check_acting(self, agent: AgentName, profile: str) -> None:
        policy = self.policy(agent)
        if policy is None:
            remedy = f"it has no policy; set agents.learned.files.{agent}"
            raise ConfigError("agents.learned.acting", agent, remedy)
        if not policy.card.may_act:
            remedy = f"{policy.card.name} may only be watched: {policy.card.why_not()}"
            raise ConfigError("agents.learned.acting", agent, remedy)
        self._check_together(agent, policy.card)
        if profile != "baseline-rules":
            remedy = f"policies are trained beside the rules of baseline-rules, not of {profile}"
            raise ConfigError("agents.learned.acting", agent, remedy)

    def _check_together(self, agent: AgentName, card: PolicyCard) -> None:
        """Raise ConfigError where other policies would act beside this one than did in its gate."""
        assert card.gate is not None
        played = card.gate.together or {agent: card.weights_sha256}
        acting = {
            one: policy.card.weights_sha256
            for one in self.acting
            if (policy := self.policy(one)) is not None
        }
        if acting != played:
            names = ", ".join(sorted(played))
            remedy = (
                f"{card.name} passed its gate with the policies of {names} acting and no others; let exactly those "
                "act, or give all that are to act to one `foresail learn gate`"
            )
            raise ConfigError("agents.learned.acting", ", ".join(self.acting), remedy)

    def announced(self, agent: AgentName) -> dict[str, Any]:
        """Return what an agent announces of its policy, the whole file among it; empty without one.

        Raises:
            ConfigError: the file is too large for that.
        """
        policy = self.policy(agent)
        if policy is None:
            return {}
        from services.learned_policy.file import policy_bytes  # noqa: PLC0415 - as above

        packed = self.packed.get(agent)
        whole = policy_bytes(policy) if packed is None else base64.b64decode(packed)
        if len(whole) > MOST_ANNOUNCED:
            remedy = f"it has {len(whole)} bytes; train a network of at most {MOST_ANNOUNCED}"
            raise ConfigError(f"agents.learned.files.{agent}", policy.card.name, remedy)
        text = base64.b64encode(whole).decode()
        acting = [agent] if agent in self.acting else []
        return {"learned": {"packed": {agent: text}, "acting": acting}}
