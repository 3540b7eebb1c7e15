"""The file of a learned policy: read whole or refused, and computed in integers."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from inputs.errors import InputError
from lab.learning.export.quantise import tanh_table
from services.learned_policy.card import Gate, PolicyCard
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import (
    arrays_of,
    policy_bytes,
    policy_from,
    read_policy,
    weights_digest,
)
from services.learned_policy.network import ONE, Layer, Network, check


def _network(seed: int = 0, activation: str = "tanh") -> Network:
    draws = np.random.default_rng(seed)

    def layer(outputs: int, inputs: int, last: bool) -> Layer:
        weights = np.rint(draws.normal(0, 0.4, (outputs, inputs)) * ONE).astype(np.int64)
        bias = np.rint(draws.normal(0, 0.1, outputs) * ONE).astype(np.int64)
        return Layer(weights, bias, "none" if last else activation)  # type: ignore[arg-type]

    return Network((layer(16, 7, False), layer(16, 16, False), layer(4, 16, True)), tanh_table())


def _policy(network: Network | None = None, **changes: object) -> LearnedPolicy:
    network = network or _network()
    card = PolicyCard(
        name="small", algorithm="PPO", preset="skrueue", environment="Foresail/KueueAdmission-v1",
        observation="small.v1", observation_count=7, kind="choice", action_count=4, masked=True, seed=0, steps=1,
        weights_sha256=weights_digest(arrays_of(network)),
    )  # fmt: skip
    return LearnedPolicy(card.model_copy(update=changes), network)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_integers_come_near_to_real_numbers(activation: str) -> None:
    """Scores differ from those of 64-bit floats by no more than a few units of 2^-20 a layer."""
    network = _network(activation=activation)
    seen = np.random.default_rng(3).uniform(-1, 1, (500, 7))
    values = seen
    for layer in network.layers:
        values = values @ (layer.weights.T / ONE) + layer.bias / ONE
        if layer.activation != "none":
            values = np.tanh(values) if activation == "tanh" else np.maximum(values, 0.0)
    np.testing.assert_allclose(network.scores(seen) / ONE, values, atol=4e-5)


def test_rows_and_single_observations_score_alike() -> None:
    """A row's scores do not depend on what is computed beside it, to the bit."""
    network = _network()
    seen = np.random.default_rng(4).uniform(0, 1, (64, 7))
    together = network.scores(seen)
    for row, scores in zip(seen, together, strict=True):
        assert np.array_equal(network.scores(row), scores)


def test_known_scores_stay(tmp_path: Path) -> None:
    """The digest of 1,000 states' scores is the one kept here: every machine computes these very integers."""
    grid = np.arange(7_000).reshape(1_000, 7) % 97 / 97.0
    weights = (np.arange(16 * 7).reshape(16, 7) * 7_919 % 2_003 - 1_001) * (ONE >> 10)
    last = (np.arange(4 * 16).reshape(4, 16) * 104_729 % 1_999 - 999) * (ONE >> 10)
    network = Network(
        (Layer(weights, np.zeros(16, np.int64), "tanh"), Layer(last, np.zeros(4, np.int64), "none")), tanh_table()
    )  # fmt: skip
    digest = hashlib.sha256(network.scores(grid).astype("<i8").tobytes()).hexdigest()
    assert digest == "0aa8066ee88a9133f5bc89f0fd2e6f905853624710420a87380f0fa97d8d430b"


def test_a_policy_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Card, scores and choice are the same, and the same policy gives the same bytes."""
    policy = _policy()
    path = tmp_path / "small.policy"
    path.write_bytes(policy_bytes(policy))
    again = read_policy(path)
    seen = np.linspace(0, 1, 7)
    assert again.card == policy.card
    assert again.choose(seen) == policy.choose(seen)
    assert policy_bytes(again) == path.read_bytes()


def test_the_mask_and_the_runner_up() -> None:
    """Only allowed actions are chosen; the runner-up is the best of the others allowed, and the margin theirs."""
    policy = _policy()
    seen = np.linspace(0, 1, 7)
    free = policy.choose(seen)
    order = sorted(range(4), key=lambda action: -free.scores[action])
    assert (free.action, free.runner_up) == (order[0], order[1])
    mask = np.ones(4, dtype=bool)
    mask[order[0]] = False
    held = policy.choose(seen, mask)
    assert (held.action, held.runner_up) == (order[1], order[2])
    assert held.margin == held.scores[order[1]] - held.scores[order[2]]
    only = policy.choose(seen, np.arange(4) == order[3])
    assert (only.action, only.runner_up, only.margin) == (order[3], None, None)
    with pytest.raises(ValueError, match="no action"):
        policy.choose(seen, np.zeros(4, dtype=bool))


def test_what_is_not_seen_so_is_refused() -> None:
    """Another number of numbers, and what is no number, are refused instead of scored."""
    policy = _policy()
    with pytest.raises(ValueError, match="7 numbers, not 6"):
        policy.choose(np.zeros(6))
    with pytest.raises(ValueError, match="no number"):
        policy.choose(np.array([0, 0, 0, np.nan, 0, 0, 0]))


def test_changed_numbers_are_refused(tmp_path: Path) -> None:
    """A file whose weights are not those that its card names is no policy, nor is one that is cut short."""
    card = _policy().card
    path = tmp_path / "other.policy"
    path.write_bytes(policy_bytes(LearnedPolicy(card, _network(seed=1))))
    with pytest.raises(InputError, match="not those that its card names"):
        read_policy(path)
    whole = policy_bytes(_policy())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="no archive"):
        read_policy(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_policy(tmp_path / "nothing.policy")


def test_a_bomb_is_not_unpacked() -> None:
    """An archive that would unpack to gigabytes is refused by what it says of itself."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights_0.npy", bytes(80 * 1024**2))
    with pytest.raises(ValueError, match="unpacked"):
        policy_from(packed.getvalue())


def test_sums_that_might_overflow_are_refused() -> None:
    """Weights whose sums might not fit 64 bits are no policy."""
    heavy = Layer(np.full((2, 4_096), 2**31 - 1, np.int64), np.zeros(2, np.int64), "none")
    with pytest.raises(ValueError, match="64 bits"):
        check((heavy,), tanh_table())


def test_only_a_gate_passed_by_these_weights_lets_a_policy_act() -> None:
    """No gate, a failed one, and one of other weights: watched only, each with its reason."""
    card = _policy().card
    assert "no result" in card.why_not()
    gate = Gate(
        experiment="queue", split="test", seeds=20, code="abc", passes=True, first_reason="better",
        weights_sha256=card.weights_sha256,
    )  # fmt: skip
    passed = card.model_copy(update={"gate": gate})
    assert passed.may_act
    assert passed.why_not() == ""
    failed = card.model_copy(update={"gate": gate.model_copy(update={"passes": False})})
    assert not failed.may_act
    assert "did not pass: better" in failed.why_not()
    other = card.model_copy(update={"gate": gate.model_copy(update={"weights_sha256": "0" * 64})})
    assert not other.may_act
    assert "other weights" in other.why_not()
