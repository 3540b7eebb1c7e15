"""The fidelity report's books, figures and command can be trusted, and can say no."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from lab.openb_fidelity.__main__ import main
from lab.openb_fidelity.compare import closeness, kolmogorov_smirnov, waits_of
from lab.openb_fidelity.play import CapacitySample, LiveRequests, denser, play, sample_times
from lab.openb_fidelity.pod_ledger import PodLedger
from twin.port.engine import Engine
from twin.port.workloads import NodeShape, WorkloadArrival

GIB = 2**30
NODES = [NodeShape(f"n{i}", 8_000, 32 * GIB, i % 2, {}) for i in range(4)]


def task(name: str, at: float, cpu: int = 1_000, seconds: float | None = 600.0) -> WorkloadArrival:
    """A task of so many millicores."""
    outcome = "run" if seconds is None else "succeed"
    return WorkloadArrival(at, name, "task", cpu, GIB, 0, 0.5, 0.5, seconds, outcome)


def test_live_requests_are_arrivals_minus_departures() -> None:
    """At any time the sums are those of the pods there; what does not end stays."""
    live = LiveRequests([task("a", 0), task("b", 100, cpu=2_000, seconds=None), task("c", 200)])
    assert live.at(-1) == (0, 0, 0)
    assert [live.at(at)[0] for at in (0, 100, 200, 600, 800, 9_999)] == [
        1_000, 3_000, 4_000, 3_000, 2_000, 2_000,
    ]  # fmt: skip


def test_a_roomy_cluster_allocates_what_is_live() -> None:
    """With room for all, allocation follows the live requests, and nobody waits or is overlooked."""
    arrivals = [task(f"t{i}", 40.0 * i) for i in range(30)]
    played = play(NODES, arrivals, 1, until=3_000)

    assert len(played.waits) == 30
    assert max(played.waits.values()) < 1.0
    assert played.overlooked == 0
    for row in closeness(played.samples):
        assert row.largest_difference_points < 7.0  # one pod that is just ending is 3 points here
    middle = [sample for sample in played.samples if 700 < sample.seconds < 1_200]
    assert all(abs(sample.live[0] - sample.allocated[0]) < 0.07 for sample in middle)


def test_a_full_cluster_shows_as_a_difference() -> None:
    """Pods that cannot be placed are live and not allocated; they are not called overlooked."""
    arrivals = [task(f"t{i}", 1.0 * i, cpu=5_000, seconds=5_000) for i in range(8)]
    played = play(NODES, arrivals, 1, until=1_000)
    last = played.samples[-1]

    assert len(played.waits) == 4
    assert (last.live[0], last.allocated[0]) == (8 * 5 / 32, 4 * 5 / 32)
    assert played.overlooked == 0
    assert closeness([last])[0].samples_below_full == 0


def test_books_see_a_pod_that_was_overlooked() -> None:
    """A scheduler that leaves a pod waiting beside an empty node does not get away with it."""
    engine = Engine(seed=1)
    books = PodLedger(NODES)
    engine.store.subscribe(books.follow)
    engine.add_nodes(NODES)
    engine.load(iter([task("a", 1.0), task("b", 2.0, cpu=9_000)]))
    engine.scheduler.follow = lambda _change: None  # type: ignore[method-assign]
    engine.advance(engine.now + 30)

    assert len(books.waiting_with_room()) == 1
    assert books.allocated == [0, 0, 0]


def test_differences_count_only_while_the_cluster_has_room() -> None:
    """Samples with any resource at 80 % or more say nothing about the others."""
    near = CapacitySample(1.0, (0.5, 0.2, 0.1), (0.49, 0.2, 0.1))
    far = CapacitySample(2.0, (0.5, 0.2, 0.9), (0.1, 0.2, 0.5))
    cpu, _, gpu = closeness([near, far])

    assert cpu.largest_difference_points == pytest.approx(1.0)
    assert (cpu.samples_below_full, gpu.highest_live_points) == (1, pytest.approx(90.0))


def test_the_distance_is_the_known_one() -> None:
    """Equal samples are 0 apart, separate ones 1, and a worked example is right."""
    assert kolmogorov_smirnov([1, 2, 3], [3, 2, 1]) == 0
    assert kolmogorov_smirnov([1, 2], [3, 4]) == 1
    assert kolmogorov_smirnov([1, 2, 3, 4], [2.5, 3.5]) == pytest.approx(0.5)
    rng = Random(1)
    one, two = ([rng.random() for _ in range(400)] for _ in range(2))
    brute = max(
        abs(sum(v <= x for v in one) / 400 - sum(v <= x for v in two) / 400) for x in one + two
    )
    assert kolmogorov_smirnov(one, two) == pytest.approx(brute)
    with pytest.raises(ValueError, match="at least one"):
        kolmogorov_smirnov([], [1])


def test_waits_are_summarised() -> None:
    """Counts, the share within a second, and quantiles at both ends."""
    waits = waits_of([0.0, 0.5, 2.0, 10.0], 6)
    assert (waits.scheduled, waits.never, waits.within_a_second) == (4, 2, 0.5)
    assert (waits.quantiles[-1], waits_of([], 3).quantiles) == (10.0, ())


def test_denser_keeps_order_and_durations() -> None:
    """Times shrink, every pod comes so many times under names of its own."""
    made = denser([task("a", 100.0), task("b", 300.0)], 100.0, 2)
    assert [(entry.name, entry.time_seconds) for entry in made] == [
        ("a-0", 1.0), ("a-1", 1.0), ("b-0", 3.0), ("b-1", 3.0),
    ]  # fmt: skip
    assert {entry.duration_seconds for entry in made} == {600.0}
    assert sample_times([replace(made[0], time_seconds=5.0)], 40.0)[-1] == 40.0


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with an openb trace of two nodes and four pods, one never scheduled."""
    folder = tmp_path / "k8s"
    folder.mkdir()
    (folder / "openb_node_list.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,65536,0,\nn1,96000,393216,8,G2\n",
        encoding="utf-8",
    )
    (folder / "openb_pod_list.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time,gpu_spec33\n"
        "a,4000,8192,1,500,,LS,Running,100,9000,110,\n"
        "b,1000,1024,0,0,,BE,Succeeded,200,3000,230,\n"
        "c,1000,1024,0,0,,BE,Failed,4000,5000,4000,\n"
        "d,5000,4096,2,1000,,LS,Pending,5000,8000,,\n",
        encoding="utf-8",
    )
    return tmp_path


def test_one_command_makes_the_report(data: Path, tmp_path: Path) -> None:
    """Page and figures are there, twice the same, and name what differs."""
    pages = []
    for name in ("one", "two"):
        out = tmp_path / name
        arguments = ["--data", str(data), "--output", str(out), "--no-plots", "--copies", "2",
                     "--factor", "2"]  # fmt: skip
        assert main(arguments) == 1  # on two nodes one pod that ends late is more than two points
        pages.append((out / "openb-fidelity.md").read_text(encoding="utf-8"))
    figures = json.loads((tmp_path / "one" / "openb-fidelity.json").read_text(encoding="utf-8"))

    assert pages[0] == pages[1]
    assert (figures["trace"]["never"], figures["recorded"]["waits"]["never"]) == (1, 0)
    assert "| trace | 3 | 1 |" in pages[0]
    assert " nan" not in pages[0]


def test_plots_are_written_the_same_each_time(data: Path, tmp_path: Path) -> None:
    """Three SVG files, byte for byte equal in a second run."""
    pytest.importorskip("matplotlib")
    drawn = []
    for name in ("one", "two"):
        out = tmp_path / name
        main(["--data", str(data), "--output", str(out), "--copies", "1", "--factor", "1"])
        drawn.append({path.name: path.read_bytes() for path in sorted(out.glob("*.svg"))})
    assert drawn[0] == drawn[1]
    assert list(drawn[0]) == ["openb-dense.svg", "openb-recorded.svg", "openb-waits.svg"]


@pytest.mark.parametrize("arguments", [(), ("--data", "nowhere"), ("--copies", "0")])
def test_bad_input_is_one_line(
    data: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No folder, a folder without the trace or an impossible number: exit code 2 and one line."""
    monkeypatch.delenv("FORESAIL_DATA", raising=False)
    given = [*arguments] if "--copies" not in arguments else ["--data", str(data), *arguments]
    assert main(["--output", str(tmp_path / "out"), "--no-plots", *given]) == 2
    assert capsys.readouterr().err.count("\n") == 1
