"""Subjects: any name survives as one token, and no text makes the parser fail otherwise than it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import subjects
from tests.fuzz.mutation import FUZZ, ODD_TEXTS

NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
SUBJECTS = st.text("foresail.live*>%2E \n\0é", max_size=24) | st.sampled_from(ODD_TEXTS) | st.text()


@FUZZ
@given(NAMES, st.lists(NAMES, min_size=1, max_size=4))
def test_any_name_is_one_token(cluster: str, names: list[str]) -> None:
    """What is built is parsed back, stored or live, and matches its own pattern only as a whole."""
    subject = subjects.build(cluster, names)

    assert subjects.Subject(cluster, tuple(names)) == subjects.parse(subject)
    assert subjects.parse(subject) == subjects.parse(subjects.live(subject))
    assert len(names) + 1 == subject.count(".")
    assert not set(subject) & set("*> \t\r\n\0")
    assert subjects.matches(subject, subject)


@FUZZ
@given(SUBJECTS)
def test_a_broken_subject_is_refused(text: str) -> None:
    """ValueError is the only refusal; what is accepted names a cluster and a layer."""
    try:
        actual = subjects.parse(text)
    except ValueError:
        return
    assert actual.cluster
    assert actual.layer
    assert actual == subjects.parse(subjects.build(actual.cluster, actual.tokens))


@FUZZ
@given(SUBJECTS, SUBJECTS)
def test_matching_never_fails(pattern: str, subject: str) -> None:
    """Any two texts match or do not; the pattern of everything matches everything."""
    assert subjects.matches(pattern, subject) in {True, False}
    assert subjects.matches(">", subject)


def test_a_name_that_is_no_text_is_refused() -> None:
    """Half a surrogate pair cannot travel: it is refused where the subject is built."""
    with pytest.raises(ValueError, match="surrogates"):
        subjects.escape("\ud800")
