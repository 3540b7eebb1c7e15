"""Figures that were quoted of an earlier commit: read, compared and refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proofs.quoted.__main__ import add_shared_jobs, main, rows
from proofs.quoted.probe import Probe
from twin.port.engine import Engine
from twin.port.workloads import NodeShape, WorkloadArrival

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


DOCUMENT = """
commit = "c0ffee"
within_ratio = 0.1
[[runs]]
name = "first"
command = "up --for 30m"
quoted = { jobs = [428, 462] }
[[runs]]
name = "second"
command = "up --for 1h"
"""


@pytest.mark.parametrize(
    ("jobs", "code"), [({"active": 430, "shadow": 460}, 0), ({"active": 500, "shadow": 400}, 1)]
)
def test_the_exit_code_says_whether_all_recur(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: dict[str, int], code: int
) -> None:
    """Each run is played in both modes on the commit's own files and the real traces; one wrong figure fails all."""
    played: list[list[str]] = []

    def play(checkout: Path, words: list[str]) -> dict[str, Any]:
        assert (checkout / "commit").read_text(encoding="utf-8") == "c0ffee"
        played.append(words)
        return {"figures": {"jobs": jobs[words[-1]]}, "job_seconds": {"a": 1.0}}

    def check_out(commit: str, folder: Path) -> None:
        folder.mkdir()
        (folder / "commit").write_text(commit, encoding="utf-8")

    monkeypatch.setattr("proofs.quoted.__main__.play", play)
    monkeypatch.setattr("proofs.quoted.__main__.check_out", check_out)
    monkeypatch.setenv("FORESAIL_DATA", str(tmp_path))
    file = tmp_path / "quoted.toml"
    file.write_text(DOCUMENT, encoding="utf-8")
    assert main([str(file)]) == code
    data = ["--data", str(tmp_path), "--mode"]
    assert played == [
        ["up", "--for", length, *data, mode]
        for length in ("30m", "1h")
        for mode in ("active", "shadow")
    ]


def test_the_probe_counts_what_happens_in_a_cluster() -> None:
    """One machine for two Jobs of ten minutes: the second waits for the first, and a Deployment grows from 1 to 3."""
    engine = Engine(seed=1)
    engine.add_nodes([NodeShape("n", 4_000, 2**34, 0, {})])
    probe = Probe(engine)
    jobs = [
        WorkloadArrival(at, name, "task", 3_500, 2**30, 0, 0.9, 0.5, 600.0, "succeed")
        for name, at in (("first", 100.0), ("second", 200.0))
    ]
    shop = WorkloadArrival(1.0, "shop", "service", 10, 2**20, 0, 0.2, 0.5, None, "run")
    engine.load(iter([shop, *jobs]))
    engine.advance(engine.now + 300.0)
    deployment = engine.store.get("deployments", "default", "shop")
    grown = {**deployment, "spec": {**deployment["spec"], "replicas": 3}}
    engine.store.replace("deployments", "default", "shop", grown)
    engine.advance(engine.now + 450.0)
    job = engine.store.get("jobs", "default", "first")  # has ended; another change is no second end
    labels = {**job["metadata"], "labels": {**job["metadata"].get("labels", {}), "seen": "yes"}}
    engine.store.replace("jobs", "default", "first", {**job, "metadata": labels})
    assert probe.figures()["jobs_completed"] == 1
    engine.advance(engine.now + 2_850.0)
    figures = probe.figures()
    assert (figures["hours"], figures["jobs_completed"], figures["jobs_failed"]) == (1.0, 2, 0)
    assert (figures["replicas_first"], figures["replicas_most"]) == (1, 3)
    assert set(probe.seconds) == {"default/first", "default/second"}
    waited = probe.seconds["default/second"] - probe.seconds["default/first"]
    assert waited == pytest.approx(500.0, abs=30.0)
    assert figures["unplaced_pod_hours"] == pytest.approx(waited / 3_600.0, abs=0.01)
