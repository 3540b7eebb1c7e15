"""Figures that were quoted of an earlier commit: read, compared and refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.quoted.__main__ import add_shared_jobs, main, rows

FILE = Path(__file__).parents[3] / "experiments" / "quoted.toml"
RUN = {"name": "run", "quoted": {"jobs": [428, 462], "replicas": [23]}}


@pytest.mark.parametrize(
    ("jobs", "replicas", "recurs"),
    [((428, 462), 23, "yes yes"), ((430, 460), 30, "yes no"), ((428, 604), 23, "no yes")],
)
def test_a_figure_recurs_in_both_modes_or_not_at_all(
    jobs: tuple[int, int], replicas: int, recurs: str
) -> None:
    """Each quoted figure has to be near, acting and not acting; what was not quoted is only shown."""
    counted = [{"figures": {"jobs": count, "replicas": replicas, "hours": 2.0}} for count in jobs]
    found = list(rows(RUN, counted, 0.1))
    assert " ".join(row[-1] for row in found) == f"{recurs} "
    assert found[0][2:5] == (str(jobs[0]), str(jobs[1]), "428 / 462")


def test_job_times_are_compared_of_the_same_jobs() -> None:
    """A Job that only one mode brought to its end would shift the mean of that mode alone."""
    counted = [
        {"figures": {}, "job_seconds": {"a": 10.0, "b": 30.0}},
        {"figures": {}, "job_seconds": {"a": 5.0, "b": 10.0, "long": 900.0}},
    ]
    add_shared_jobs(counted)
    assert [one["figures"]["job_seconds_mean_of_shared"] for one in counted] == [20.0, 7.5]


def test_without_the_real_traces_nothing_is_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures are of a real trace, which is not shipped: one line says what is missing."""
    monkeypatch.delenv("FORESAIL_DATA", raising=False)
    assert main([str(FILE)]) == 2
    assert capsys.readouterr().err == (
        "error: FORESAIL_DATA = None: name the folder of the real traces\n"
    )
