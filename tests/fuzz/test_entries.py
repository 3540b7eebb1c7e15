"""Every entry of the fuzzers takes its seeds, what was found before, and mutations of both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.fuzzing import CORPUS, entries, inputs
from tests.fuzz.mutation import FUZZ, mutated_bytes

ENTRIES = entries()


@pytest.mark.parametrize("name", ENTRIES)
def test_known_inputs(name: str) -> None:
    """Seeds and kept findings are read or refused in the documented way."""
    entry = ENTRIES[name]

    assert entry.seeds
    for content in inputs(entry):
        entry.run(content)


@pytest.mark.parametrize("name", ENTRIES)
def test_mutations(name: str) -> None:
    """Inputs that differ a little from known ones are read or refused in the documented way."""
    entry = ENTRIES[name]
    known = inputs(entry)

    @FUZZ
    @given(st.sampled_from(known).flatmap(mutated_bytes) | st.binary(max_size=60))
    def run(content: bytes) -> None:
        entry.run(content)

    run()


def test_kept_inputs_belong_to_an_entry() -> None:
    """Every folder of the corpus is named after an entry, so that none is forgotten."""
    folders = {path.name for path in CORPUS.iterdir()} if CORPUS.is_dir() else set()

    assert folders <= set(ENTRIES)
