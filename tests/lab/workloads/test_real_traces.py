"""The real trace files, where they are, convert and fit as the documentation says."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path

import pytest

from lab.traces.openb import read_openb
from lab.traces.registry import read_workload_trace
from lab.workloads import prepare
from lab.workloads.check import mean_figures, model_figures, trace_figures
from lab.workloads.fit import fit_model
from lab.workloads.usage import fit_usage
from twin.port.workloads import CARRIED_IN_SECONDS, load_model, open_workload

REPOSITORY = Path(__file__).parents[3]


def data_dir() -> Path:
    """Folder of the trace files; skips when there is none."""
    named = os.environ.get("FORESAIL_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not (folder / "k8s" / "openb_pod_list.csv").is_file():
        pytest.skip("no trace files: set FORESAIL_DATA to their folder")
    return folder


def test_openb_plays_its_own_pods_at_100_nodes(tmp_path: Path) -> None:
    """At the reference size every pod from the busiest hour on is played, by its name."""
    folder = data_dir()
    path = prepare("openb", folder, tmp_path / "w.jsonl", nodes=100, seed=7).path
    workload = open_workload(str(path), nodes=100, seed=7)
    played = {entry.name for entry in workload.arrivals}
    pods = read_openb(folder).pods
    start = read_openb(folder).busiest_hour()[0] * 3600
    assert len(workload.nodes) == 100
    assert {name for name, arrive in pods.select("name", "arrive_seconds").rows()
            if arrive >= start} <= played  # fmt: skip
    assert played <= set(pods["name"])
    assert workload.arrivals_per_hour == pytest.approx(47, rel=0.02)


@pytest.mark.parametrize(
    ("name", "nodes", "ratio"),
    [
        ("openb", 40, 0.0477),
        ("google2011", 100, 0.8565),
        ("azure", 60, 0.5998),
        ("philly", 60, 0.1535),
        ("surf", 60, 0.3541),
    ],
)
def test_converted_load_ratio_is_the_traces(
    name: str, nodes: int, ratio: float, tmp_path: Path
) -> None:
    """Right after the start the cluster requests what the trace does, times its density."""
    folder = data_dir()
    path = prepare(name, folder, tmp_path / "w.jsonl", nodes=nodes, seed=7).path
    workload = open_workload(str(path), nodes=nodes, seed=7)
    early = takewhile(lambda a: a.time_seconds < CARRIED_IN_SECONDS, workload.arrivals)
    cores = sum(node.cpu_millicores for node in workload.nodes)
    requested = sum(entry.cpu_request_millicores for entry in early) / cores
    assert requested == pytest.approx(ratio, rel=0.12)


@pytest.mark.parametrize("name", ["openb", "azure", "philly", "surf"])
def test_shipped_models_are_what_the_command_makes(name: str) -> None:
    """Fitting the files again gives the model in the repository, figure by figure."""
    folder = data_dir()
    model = fit_model(read_workload_trace(name, folder), folder, fit_usage(folder))
    assert model == load_model(name)


def test_openb_model_stays_close_to_its_trace() -> None:
    """Arrivals, load, durations and failures of the model are within a third of the trace's."""
    trace = trace_figures(read_openb(data_dir()))
    plays = [model_figures("openb", nodes=100, seed=seed) for seed in range(8)]
    model = mean_figures(plays)
    for field in type(trace).__slots__:
        assert getattr(model, field) == pytest.approx(getattr(trace, field), rel=0.34), field
