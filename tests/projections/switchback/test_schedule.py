"""The switchback's schedule: drawn by pairs from the seed alone, the same whoever asks."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pydantic import ValidationError

from projections.switchback.schedule import CLUSTER, OFF, SwitchbackSettings


def schedule(**fields: Any) -> SwitchbackSettings:
    """Return a schedule of minutes."""
    return SwitchbackSettings(
        **{"unit": "time", "block_seconds": 60, "wash_out_seconds": 20} | fields
    )


def test_one_block_of_each_pair_acts() -> None:
    """Whatever the coin says, acting and holding get the same time."""
    drawn = schedule(seed=3)
    for pair in range(500):
        assert drawn.acts(2 * pair) is not drawn.acts(2 * pair + 1)


def test_coins_are_fair_and_independent_over_pairs_seeds_and_units() -> None:
    """Each unit acts first in about half of the pairs, and two units agree in about half of them."""
    drawn = schedule(unit="namespace", namespaces=("shop",), seed=1)
    other = schedule(seed=2)
    pairs = range(0, 8_000, 2)
    cluster = [drawn.acts(block) for block in pairs]
    shop = [drawn.acts(block, "shop") for block in pairs]
    seeds = [other.acts(block) for block in pairs]
    for share in (
        cluster,
        [a is b for a, b in zip(cluster, shop, strict=True)],
        [a is b for a, b in zip(cluster, seeds, strict=True)],
        [a is b for a, b in itertools.pairwise(cluster)],
    ):
        assert sum(share) / len(share) == pytest.approx(0.5, abs=0.04)  # five standard errors


def test_the_schedule_of_a_seed_never_changes() -> None:
    """Recordings are computed again by it: these are its first blocks, written down."""
    drawn = [schedule(seed=3).acts(block) for block in range(12)]
    assert drawn == [True, False, False, True, False, True, False, True, True, False, True, False]


def test_blocks_are_counted_from_the_epoch_and_a_block_begins_with_its_first_second() -> None:
    """A restart needs to know nothing of the start."""
    drawn = schedule()
    assert [drawn.block_at(moment) for moment in (0.0, 59.9, 60.0, 1_767_225_600.0)] == [
        *(0, 0, 1),
        29_453_760,
    ]
    assert drawn.end_of(29_453_759) == 1_767_225_600.0


def test_objects_without_a_named_namespace_belong_to_the_cluster() -> None:
    """Nodes and namespaces that are not named act and hold together."""
    drawn = schedule(unit="namespace", namespaces=("shop", "batch"))
    assert [drawn.unit_of(name) for name in ("shop", "batch", "other", "")] == [
        *("shop", "batch"),
        *(CLUSTER, CLUSTER),
    ]
    assert drawn.units == (CLUSTER, "shop", "batch")
    assert schedule().units == (CLUSTER,)
    assert not OFF.enabled


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"wash_out_seconds": 60}, "wash_out_seconds"),
        ({"unit": "namespace"}, "namespaces"),
        ({"unit": "namespace", "namespaces": ("a", "a")}, "namespaces"),
        ({"block_seconds": 0}, "block_seconds"),
        ({"seed": -1}, "seed"),
        ({"unit": "node"}, "unit"),
        ({"block_seconds": float("nan")}, "block_seconds"),
    ],
)
def test_a_schedule_that_cannot_be_kept_is_refused(fields: dict[str, Any], named: str) -> None:
    """The complaint names the field."""
    with pytest.raises(ValidationError, match=named):
        schedule(**fields)
