"""The subject grammar: names go in and come out unchanged, and wildcards match as NATS matches
them.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import subjects

names = st.text(min_size=1, max_size=40).filter(
    lambda text: text.encode("utf-8", "ignore").decode() == text
)


@given(names, st.lists(names, min_size=1, max_size=4))
def test_parse_undoes_build(cluster: str, tokens: list[str]) -> None:
    """Whatever the names hold, parsing a built subject returns them."""
    parsed = subjects.parse(subjects.build(cluster, tokens))

    assert (cluster, tuple(tokens)) == (parsed.cluster, parsed.tokens)


@given(names)
def test_an_escaped_name_is_one_plain_token(name: str) -> None:
    """An escaped name has no dot, wildcard, space or control character."""
    escaped = subjects.escape(name)

    assert not set(escaped) & set(".*> \t\r\n\x00")
    assert escaped.isascii()


def test_a_readable_name_stays_readable() -> None:
    """Node names with dots change only where they must."""
    assert "node-1%2Eexample%2Ecom" == subjects.escape("node-1.example.com")


def test_an_empty_token_is_refused() -> None:
    """A subject cannot hold an empty token."""
    with pytest.raises(ValueError, match="empty"):
        subjects.escape("")


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        ("foresail.c.decision", "foresail.c.decision", True),
        ("foresail.*.decision", "foresail.c.decision", True),
        ("foresail.c.>", "foresail.c.outcome.reward", True),
        ("foresail.c.>", "foresail.c", False),
        ("foresail.c.*", "foresail.c.outcome.reward", False),
        ("foresail.c.outcome.*", "foresail.c.outcome", False),
        ("foresail.d.>", "foresail.c.decision", False),
    ],
)
def test_wildcards_match_as_in_nats(pattern: str, subject: str, expected: bool) -> None:
    """`*` stands for one token, `>` for at least one more."""
    assert expected is subjects.matches(pattern, subject)


@pytest.mark.parametrize(
    "subject", ["", "foresail", "foresail.c", "other.c.decision", "foresail..decision"]
)
def test_a_foreign_subject_is_refused(subject: str) -> None:
    """Parsing anything that is not ours says so."""
    with pytest.raises(ValueError, match="not a Foresail subject"):
        subjects.parse(subject)


def test_a_live_subject_parses_like_the_stored_one() -> None:
    """Taps read `live.` subjects and get the same cluster and layer."""
    assert subjects.parse("foresail.c.decision") == subjects.parse("live.foresail.c.decision")
