"""Decisions that are packed: every answer is as if none were; and positions, which are kept as stretches."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import chain
from typing import Any

import pytest

from schemas.reasons import Reason
from services.dashboard import decision_book, decision_list
from services.dashboard.decision_book import DecisionBook
from services.dashboard.decision_entry import NOTHING_LOST, ROW, DecisionEntry, Tally
from services.dashboard.decision_list import DecisionFilter, rows_of
from services.dashboard.positions import Positions
from services.dashboard.workloads import decisions_about, workload_rows

DECISIONS = 60
LISTED = 50
STEP = 10
"""Positions between two decisions."""
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"before_cycle": 20},
    {"agent": "safety"},
    {"agent": "nobody"},
    {"kind": "scale"},
    {"rule": "safety_first"},
    {"target": "shop/"},
    {"rail": "cooldown"},
    {"rail": "cooldown", "agent": "safety"},
    {"became": "refused"},
    {"became": "executed"},
    {"became": "running"},
    {"lost": "efficiency"},
    {"within_seconds": 240.0},
    {"reward_below": 0.5},
    {"acts": True},
)


def entry(cycle: int) -> DecisionEntry:
    """Return a decision: of a dozen, most do nothing, and few are like another."""
    seq, acts = cycle * STEP, cycle % 12 in {0, 5, 7} or 30 <= cycle < 36
    other = {"target": f"shop/Deployment/web to {cycle}", "label": "scale", "kind": "scale"}
    row = {
        "cycle": cycle,
        "seq": seq,
        "cluster_time_seconds": 1_700_000_000.0 + 10 * cycle,
        "letter": "A" if acts else "R",
        "label": "replicate" if acts else "noop",
        "noop": None if acts else str(Reason.NOTHING_TO_DO),
        "target": f"node-{cycle % 3}" if acts else "",
        "more": [other] if cycle % 24 == 5 else (),
        "rule": "safety_first" if acts else "no_proposal",
        "losers": 1 if acts else 0,
        "missing": (),
    }
    return DecisionEntry(
        seq=seq,
        recorded_ms=seq * 1_000,
        values=tuple(row[name] for name in ROW),
        agent="safety" if acts else "",
        kind="scale" if cycle % 24 == 5 else "replicate" if acts else "noop",
        same=(seq,) if acts else ("no_proposal", ("C",) if cycle % 12 == 3 else (), "quiet"),
        lost={"efficiency": ("safety_first", "safety")} if cycle % 12 == 5 else NOTHING_LOST,
    )


def note(one: DecisionEntry, cycle: int) -> None:
    """Let outcomes arrive: at once that it runs, what it became only some cycles later."""
    if one.kind == "noop":
        return
    later = one.seq + 4 * STEP
    refused = cycle % 12 == 7
    one.became = ((one.seq + 2, "running"), (later, "refused, late" if refused else "executed"))
    one.rewards = ((later, (cycle % 10) / 10),)
    one.rails = ((later, "cooldown"),) if refused else ()


def book() -> DecisionBook:
    """Return a book of the decisions, each with its outcomes as soon as it is in it."""
    made = DecisionBook()
    for cycle in range(1, DECISIONS + 1):
        made.add(cycle, entry(cycle))
        held = made.newest(cycle)
        assert held is not None
        note(held, cycle)
    return made


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> tuple[DecisionBook, DecisionBook]:
    """Two books of the same decisions, of one of which nothing is packed."""
    monkeypatch.setattr(decision_book, "MOST_DECISIONS", LISTED)
    monkeypatch.setattr(decision_list, "LIMIT", 12)
    whole = DecisionBook()
    whole._newest = {
        cycle: one
        for cycle in range(DECISIONS - LISTED + 1, DECISIONS + 1)
        for one in [entry(cycle)]
    }
    for cycle, one in whole._newest.items():
        note(one, cycle)
    monkeypatch.setattr(decision_book, "UNPACKED", 9)
    monkeypatch.setattr(decision_book, "IN_BLOCK", 4)
    return whole, book()


MOMENTS = (0, 115, 200, 300, 301, 342, 343, 402, 445, 599, 600, 10_000)


@pytest.mark.parametrize("asked", FILTERS, ids=lambda asked: "-".join(asked) or "all")
def test_answers_from_packed_decisions_are_those_from_unpacked_ones(
    books: tuple[DecisionBook, DecisionBook], asked: dict[str, Any]
) -> None:
    """At every moment: before any, inside a block, before its outcomes, at the end; the oldest ones are not listed."""
    whole, packed = books
    assert (0, 10) == (len(whole._blocks), len(packed._blocks))

    for moment in MOMENTS:
        assert rows_of(whole, DecisionFilter(moment, **asked)) == rows_of(
            packed, DecisionFilter(moment, **asked)
        )


def test_the_filters_find_something(books: tuple[DecisionBook, DecisionBook]) -> None:
    """Each but two, of which one only fits before the end, fits some decision; counted are those that are listed."""
    answers = [rows_of(books[1], DecisionFilter(10_000, **asked)) for asked in FILTERS]

    assert [3, 11] == [place for place, told in enumerate(answers) if not told["rows"]]
    assert {LISTED} == {told["decisions"] for told in answers}
    assert answers[0]["more"]
    assert {"executed", "refused", "late"} == {
        value for value, _ in answers[0]["choices"]["became"]
    }


def test_targets_are_found_in_packed_decisions(books: tuple[DecisionBook, DecisionBook]) -> None:
    """What the pages of a node, of a workload and of all workloads tell is the same."""
    whole, packed = books
    for moment in MOMENTS:
        for name in ("node-1", "shop/Deployment/web"):
            told = [decisions_about(one.newest_first(moment), name, moment) for one in books]
            assert told[0] == told[1]
        assert workload_rows(None, whole.newest_first(moment)) == workload_rows(
            None, packed.newest_first(moment)
        )
    about = [
        decisions_about(packed.newest_first(10_000), name, 10_000)
        for name in ("node-1", "shop/Deployment/web")
    ]
    assert all(about)
    assert {("executed",), ("refused, late", "cooldown")} == {
        (*one["became"], *one["rails"]) for one in chain.from_iterable(about)
    }


def test_blocks_without_what_is_asked_for_stay_packed(
    books: tuple[DecisionBook, DecisionBook], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting everything at the end unpacks only the block of which the oldest are not listed; a rare filter few."""
    unpacked: list[int] = []
    entries = decision_book._Block.entries

    def counted(block: decision_book._Block) -> list[DecisionEntry]:
        unpacked.append(block.first_seq)
        return entries(block)

    monkeypatch.setattr(decision_book._Block, "entries", counted)
    packed = books[1]

    packed.tally(10_000)
    assert [90] == unpacked
    list(packed.newest_first(10_000, lambda tally: ("lost", "efficiency") in tally.counts))
    assert [90, 410, 290, 170] == unpacked
    list(packed.newest_first(10_000))
    assert 4 + 10 == len(unpacked)


def test_tallies_add_up() -> None:
    """Of two halves together they are those of the whole."""
    entries = [entry(cycle) for cycle in range(40)]
    both = Tally.of(entries[:17], 10_000)
    both.add(Tally.of(entries[17:], 10_000))

    assert Tally.of(entries, 10_000) == both
    assert both.counts["agent", "safety"] == both.acted > 0


@pytest.mark.parametrize("apart_ms", [700, 10_000, 65_536])
def test_positions_are_those_of_plain_lists(apart_ms: int) -> None:
    """With holes, a clock that goes back, and stretches longer than 16 bits of milliseconds."""
    seqs = [*range(5, 25), *range(40, 60), 61, 70, *range(71, 90)]
    times = [1_700_000_000_000 + apart_ms * place for place in range(len(seqs))]
    times[30:] = [time + 2**33 for time in times[30:]]
    positions = Positions()
    for seq, time in zip(seqs, times, strict=True):
        positions.append(seq, time)

    assert (seqs, times) == (
        [positions.seq(place) for place in range(len(positions))],
        [positions.ms(place) for place in range(len(positions))],
    )
    assert (seqs[-1], times[-1]) == (positions.seq(-1), positions.ms(-1))
    for seq in range(100):
        assert bisect_left(seqs, seq) == positions.place_of(seq)
    for time in chain.from_iterable((time - 1, time, time + 1) for time in times):
        assert bisect_right(times, time) == positions.recorded_by(time)
    with pytest.raises(IndexError):
        positions.seq(len(seqs))
    positions.append(90, times[0])
    assert (90, times[0]) == (positions.seq(-1), positions.ms(-1))
