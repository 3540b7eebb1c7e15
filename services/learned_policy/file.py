"""The one file of a policy: numpy's archive of arrays, the card among them as JSON; nothing in it is ever run."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from inputs.errors import InputError
from inputs.limited_files import BadFile, read_limited
from services.learned_policy.card import FORMAT, PolicyCard
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.network import ACTIVATIONS, Layer, Network, check

SUFFIX = ".policy"
MOST_BYTES = 16 * 1024**2
"""Of the file; SKRueue's largest network has 300,000 weights, which are one million bytes."""
MOST_UNPACKED = 4 * MOST_BYTES
CARD, TANH, CENTRE, PER_DEVIATION, CUT = "card", "tanh", "centre", "per_deviation", "cut"
SLOTS = "slots"
Arrays = Mapping[str, npt.NDArray[Any]]


def arrays_of(network: Network) -> dict[str, npt.NDArray[Any]]:
    """Return a network's numbers by name, weights in 32 bits."""
    arrays: dict[str, npt.NDArray[Any]] = {TANH: network.tanh.astype(np.int32)}
    arrays[SLOTS] = np.array(network.slots)
    placed = {f"{number}": layer for number, layer in enumerate(network.layers)}
    placed |= {f"waiting_{number}": layer for number, layer in enumerate(network.waiting)}
    for name, layer in placed.items():
        arrays[f"weights_{name}"] = layer.weights.astype(np.int32)
        arrays[f"bias_{name}"] = layer.bias
        place = ACTIVATIONS.index(layer.activation)
        arrays[f"activation_{name}"] = np.array(place, dtype=np.int8)
    if network.centre is not None and network.per_deviation is not None:
        arrays |= {CENTRE: network.centre, PER_DEVIATION: network.per_deviation}
        arrays[CUT] = np.array(network.cut)
    return arrays


def weights_digest(arrays: Arrays) -> str:
    """Return SHA-256 of the numbers with their names and shapes, however they are packed."""
    digest = hashlib.sha256()
    for name in sorted(set(arrays) - {CARD}):
        array = np.ascontiguousarray(arrays[name])
        kind = array.dtype.newbyteorder("<")
        digest.update(f"{name} {kind.str} {array.shape}\n".encode())
        digest.update(array.astype(kind).tobytes())
    return digest.hexdigest()


def policy_bytes(policy: LearnedPolicy) -> bytes:
    """Return the file of a policy."""
    card = policy.card.model_dump_json(indent=1).encode()
    packed = io.BytesIO()
    arrays: dict[str, Any] = {
        CARD: np.frombuffer(card, dtype=np.uint8),
        **arrays_of(policy.network),
    }
    np.savez_compressed(packed, **arrays)
    return packed.getvalue()


def read_policy(path: Path) -> LearnedPolicy:
    """Return the policy in a file.

    Raises:
        InputError: it cannot be read, is no policy of this format, or its numbers are not those that its card names.
    """
    try:
        return policy_from(read_limited(path, MOST_BYTES))
    except OSError as error:
        raise InputError("policy", path, f"it cannot be read ({error.strerror})") from error
    except BadFile as error:
        raise InputError("policy", path, f"{error}; a policy is smaller") from error
    except ValueError as error:
        raise InputError("policy", path, f"no policy: {error}; export it anew") from error


def policy_from(packed: bytes) -> LearnedPolicy:
    """Return the policy in a file's bytes; raises ValueError with one sentence where it is none."""
    arrays = _arrays(packed)
    try:
        card = PolicyCard.model_validate_json(bytes(arrays[CARD].astype(np.uint8)))
    except (KeyError, ValidationError) as error:
        raise ValueError("it holds no card of a policy") from error
    if card.format != FORMAT:
        raise ValueError(f"its format is {card.format}, and {FORMAT} is read")
    if card.weights_sha256 != weights_digest(arrays):
        raise ValueError("its numbers are not those that its card names")
    network = _network(arrays)
    if (network.inputs, network.outputs) != (card.observation_count, card.action_count):
        raise ValueError("its network and its card differ in observations or actions")
    return LearnedPolicy(card, network)


def _arrays(packed: bytes) -> dict[str, npt.NDArray[Any]]:
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_UNPACKED:
                raise ValueError(f"unpacked it has more than {MOST_UNPACKED} bytes")
        with np.load(io.BytesIO(packed), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (zipfile.BadZipFile, EOFError, KeyError, OSError) as error:
        raise ValueError("it is no archive of arrays") from error


def _network(arrays: Arrays) -> Network:
    try:
        layers, waiting = _layers(arrays, ""), _layers(arrays, "waiting_")
        tanh, slots = arrays[TANH].astype(np.int64), int(arrays[SLOTS])
    except (IndexError, KeyError, TypeError) as error:
        raise ValueError(f"a layer lacks something ({error})") from error
    check(layers, tanh)
    if slots:
        check(waiting, tanh)
    if slots < 0 or bool(slots) != bool(waiting):
        raise ValueError("its slots and its layers do not fit one another")
    network = Network(layers, tanh, slots=slots, waiting=waiting)
    if CENTRE not in arrays:
        return network
    centre, per_deviation = (arrays[name].astype(np.float64) for name in (CENTRE, PER_DEVIATION))
    return replace(network, centre=centre, per_deviation=per_deviation, cut=float(arrays[CUT]))


def _layers(arrays: Arrays, prefix: str) -> tuple[Layer, ...]:
    pattern = re.compile(f"weights_{prefix}[0-9]+")
    count = len([name for name in arrays if pattern.fullmatch(name)])
    return tuple(
        Layer(
            arrays[f"weights_{prefix}{number}"].astype(np.int64),
            arrays[f"bias_{prefix}{number}"].astype(np.int64),
            ACTIVATIONS[int(arrays[f"activation_{prefix}{number}"])],
        )
        for number in range(count)
    )
