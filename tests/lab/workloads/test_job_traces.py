"""Azure, Philly and SURF traces made by hand are read as documented."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from lab.traces.azure import read_azure
from lab.traces.machines import MachineKind, machine_rows
from lab.traces.philly import read_philly
from lab.traces.surf import read_surf
from lab.traces.workload_trace import POD_COLUMNS
from lab.workloads.usage import PARTS, life_profiles

HOUR = 3600


def moments(*texts: str) -> pl.Series:
    """Time stamps without a zone, as the traces have them."""
    return pl.Series(texts).str.to_datetime("%Y-%m-%d %H:%M")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three small job traces."""
    (tmp_path / "replay").mkdir()
    pl.DataFrame(
        {
            "submit_time": moments("2017-09-04 01:00", "2017-09-04 00:30", "2017-09-04 03:00"),
            "duration_s": [600.0, 7200.0, 1.0],
            "num_gpus": [2, 20, 1],
            "gpu_seconds": [1200.0, 144000.0, 1.0],
            "vc": ["a", "b", "a"],
        }
    ).write_parquet(tmp_path / "replay/philly_gpu_jobs.parquet")  # fmt: skip
    pl.DataFrame(
        {
            "split": ["train", "dev", "dev", "dev"],
            "time_s": [300, 1_800_000, 1_800_000, 1_803_600],
            "batch": [0, 0, 0, 1],
            "flavor": ["a", "b", "b", "c"],
            "vcpu": [1.0, 2.0, 2.0, 16.0],
            "memory_gb": [0.75, 3.5, 3.5, 112.0],
            "censored": [None, False, True, False],
            "duration_lo_s": [None, 300, 86_700, 900],
            "duration_hi_s": [None, 600, 173_100, 1_200],
        }
    ).write_parquet(tmp_path / "replay/azure_v1_vm_arrivals.parquet")
    pl.DataFrame(
        {
            "id": ["1", "2", "3"],
            "submission_time": moments("2022-10-06 22:00", "2022-10-06 22:00", "2022-10-06 23:30"),
            "duration": [1_920_000, 0, 60_000],
            "cpu_count": [16, 1, 40],
            "cpu_capacity": [33_600.0] * 3,
            "mem_capacity": [100_000] * 3,
        }
    ).write_parquet(tmp_path / "replay/surf22_tasks.parquet")
    pl.DataFrame(
        {
            "id": ["1"] * 64 + ["3"] * 2,
            "duration": [30_000] * 66,
            "cpu_count": [16] * 66,
            "cpu_usage": [0.0, 33_600.0] * 32 + [16_800.0, 33_600.0],
        }
    ).write_parquet(tmp_path / "replay/surf22_fragments.parquet")
    return tmp_path


def test_philly_jobs_fill_whole_machines_first(folder: Path) -> None:
    """A job of 20 GPUs becomes pods of 8, 8 and 4, submitted together; times count from midnight."""
    trace = read_philly(folder)
    pods = {row["name"]: row for row in trace.pods.to_dicts()}

    assert list(pods) == ["philly-0-0", "philly-0-1", "philly-0-2", "philly-1", "philly-2"]
    assert [row["gpus"] for row in pods.values()] == [8, 8, 4, 2, 1]
    assert {pods[f"philly-0-{part}"]["batch"] for part in range(3)} == {"philly-0"}
    assert pods["philly-0-2"]["cpu_millicores"] == 16_000
    assert (pods["philly-0-0"]["arrive_seconds"], pods["philly-0-0"]["end_seconds"]) == (
        1800.0,
        9000.0,
    )
    assert (len(trace.nodes), int(trace.nodes["gpus"].sum())) == (552, 2_490)


def test_the_fullest_hour_is_where_most_is_requested(folder: Path) -> None:
    """Philly begins with the hour that most cpu is requested in, not the one with most arrivals."""
    assert read_philly(folder).busiest_hour() == (1, 1)


def test_azure_keeps_batches_bins_and_open_ends(folder: Path) -> None:
    """VMs of one batch arrive together within their bin, and last within their duration's bin."""
    trace = read_azure(folder)
    first, second, third = trace.pods.to_dicts()

    assert trace.dropped.startswith("1 earlier")
    assert first["arrive_seconds"] == second["arrive_seconds"]
    assert 1_800_000 <= first["arrive_seconds"] < 1_800_300
    assert 300 <= first["running_seconds"] <= 600
    assert second["end_seconds"] is None
    assert third["cpu_millicores"] == 16_000
    assert third["memory_bytes"] == 112 * 2**30
    assert len(trace.nodes) == trace.reference_nodes == 1


def test_surf_windows_keep_time_and_use(folder: Path) -> None:
    """64 fragments become 32 windows with the same mean; jobs of several machines share theirs."""
    trace = read_surf(folder)
    pods = {row["name"]: row for row in trace.pods.to_dicts()}

    assert list(pods) == ["surf-1", "surf-2", "surf-3-0", "surf-3-1", "surf-3-2"]
    assert [row["cpu_millicores"] // 1000 for row in pods.values()] == [16, 1, 16, 16, 8]
    assert pods["surf-2"]["running_seconds"] == 1.0
    assert list(trace.cpu_windows["surf-1"]) == [(60.0, 0.5)] * 32
    assert (
        trace.cpu_windows["surf-3-0"]
        == trace.cpu_windows["surf-3-2"]
        == [
            (30.0, 0.5),
            (30.0, 1.0),
        ]
    )
    assert trace.cpu_ratios == (0.5, 0.75)
    assert pods["surf-1"]["arrive_seconds"] == 22 * HOUR


def test_every_reader_gives_the_same_columns(folder: Path) -> None:
    """Pods of all traces have one form, without unknown values but for open ends."""
    for read in (read_philly, read_azure, read_surf):
        pods = read(folder).pods
        assert tuple(pods.columns) == POD_COLUMNS
        assert pods.drop("end_seconds").null_count().sum_horizontal().item() == 0
        assert pods["name"].n_unique() == len(pods)


def test_machines_are_counted_by_kind() -> None:
    """Shapes are named after cores, memory and GPUs; names go on over the kinds."""
    rows = machine_rows("m", [MachineKind(2, 16, 96, 0, ""), MachineKind(1, 24, 192, 4, "Titan")])
    assert rows["name"].to_list() == ["m-0000", "m-0001", "m-0002"]
    assert rows["shape"].to_list() == ["16c-96g", "16c-96g", "24c-192g-4xtitan"]


def test_life_profiles_average_and_keep_the_mean() -> None:
    """Lives are grouped from falling to rising; factors of a group average to one."""
    rising = [(10.0, 0.2)] * 4 + [(10.0, 0.6)] * 4
    falling = [(5.0, 0.9), (5.0, 0.1)]
    profiles = life_profiles([rising] * 6 + [falling] * 6 + [[(10.0, 0.0)]])

    assert sum(profile.weight for profile in profiles) == 12
    assert profiles[0].cpu_factors == pytest.approx([1.8] * 4 + [0.2] * 4)
    assert profiles[-1].cpu_factors == pytest.approx([0.5] * 4 + [1.5] * 4)
    for profile in profiles:
        assert sum(profile.cpu_factors) / PARTS == pytest.approx(1.0, abs=1e-3)
