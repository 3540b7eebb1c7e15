"""Other names: nothing that compares names can tell the difference, and nobody can go back."""

from __future__ import annotations

import itertools
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from bus.recording.pseudonyms import TAIL, pseudonyms
from features.codes import program_of

NAMES = st.from_regex(r"[a-c09]([a-c09g.\-]{0,8}[a-c09g])?", fullmatch=True) | st.from_regex(
    r"(ab|a|job)(-[0-9a-f]{8})?(-[0-9]{1,3}){0,2}", fullmatch=True
)
SALT = b"0123456789abcdef"


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(NAMES, min_size=2, max_size=10), st.binary(min_size=16, max_size=16))
def test_names_compare_as_before(names: list[str], salt: bytes) -> None:
    """Order, alone and before `/` or `|`, shared beginnings and running numbers are kept."""
    given_names = sorted(set(names))
    other = pseudonyms(given_names, salt)

    assert len(set(other.values())) == len(given_names)
    for left, right in itertools.combinations(given_names, 2):
        for one, two in itertools.product(("", "/x", "|x"), repeat=2):
            assert (left + one < right + two) == (other[left] + one < other[right] + two)
        assert right.startswith(left) == other[right].startswith(other[left])
        assert (TAIL.sub("", left) == TAIL.sub("", right)) == (
            TAIL.sub("", other[left]) == TAIL.sub("", other[right])
        )


def test_runs_of_a_program_stay_runs_of_a_program() -> None:
    """What inference takes for one program under its names is one under other names."""
    other = pseudonyms(("report-28391", "report-28392", "report-old"), SALT)
    first, second, third = (program_of(f"a/Job/{name}") for name in other.values())

    assert (
        len({program_of(f"a/Job/{other[name]}") for name in ("report-28391", "report-28392")}) == 1
    )
    assert 2 == len({first, second, third})


def test_words_and_lengths_are_gone() -> None:
    """A name's letters and its length cannot be seen in the other name."""
    names = ("payments", "hr", "a-very-long-name-of-something")
    other = pseudonyms(names, SALT)

    assert 1 == len({len(one.replace("-", "")) for one in other.values()})
    assert all(re.fullmatch("[g-z]+", one) for one in other.values())


def test_another_salt_gives_other_names() -> None:
    """The mapping cannot be repeated without the salt, and is the same with it."""
    names = ("payments", "shop", "shop-7")

    assert pseudonyms(names, SALT) == pseudonyms(names, SALT)
    assert pseudonyms(names, SALT) != pseudonyms(names, SALT[::-1])
