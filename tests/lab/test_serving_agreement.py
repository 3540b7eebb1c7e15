"""The table of M/M/c holds the exact mode against a closed form of its own."""

from __future__ import annotations

import pytest

from lab.serving_agreement import RUN_LENGTHS, SERVERS, closed_form_rows, main, mean_latency


def test_the_closed_form_is_that_of_the_textbooks() -> None:
    """M/M/1 is 1 / (1 - load); with two servers 1 / (1 - load^2)."""
    for load in (0.3, 0.8, 0.95):
        assert mean_latency(1, load) == pytest.approx(1.0 / (1.0 - load))
        assert mean_latency(2, load) == pytest.approx(1.0 / (1.0 - load**2))


def test_each_row_has_an_interval_that_fits() -> None:
    """At low loads a short run is within a few per cent; every row says how far it can be off."""
    _, _, *lines = closed_form_rows(2e4)
    cells = [[float(cell) for cell in line.strip("| ").split("|")] for line in lines]
    assert [(row[0], row[1]) for row in cells] == [
        (servers, load) for servers in SERVERS for load in RUN_LENGTHS
    ]
    for _, load, expected, found, off, half in cells:
        assert off == pytest.approx(100.0 * (found / expected - 1.0), abs=0.02)
        assert half > 0.0
        if load <= 0.5:
            assert abs(off) < 8.0


def test_the_flag_prints_that_table(capsys: pytest.CaptureFixture[str]) -> None:
    """`--closed-form` prints fifteen rows and nothing of the other table."""
    main(["--closed-form", "--requests", "20000"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(SERVERS) * len(RUN_LENGTHS)
    assert "Erlang" in lines[0]
