"""Rates of requests in files of a user's own, and services of a workload file that have traffic."""

from __future__ import annotations

from pathlib import Path

import pytest

from inputs.errors import InputError
from twin.config import TwinConfig
from twin.engine import Engine
from twin.traffic import read_traffic
from twin.workloads.catalog import open_workload
from twin.workloads.rate_file import check_rate_file, read_rate_file
from twin.workloads.trace_file import read_trace_file, write_trace_file

ROOT = Path(__file__).parents[3]
_HEADER = "time_seconds,requests_per_second\n"


def _file(folder: Path, text: str) -> Path:
    path = folder / "rates.csv"
    path.write_text(text)
    return path


def test_rates_are_read_and_comments_skipped(tmp_path: Path) -> None:
    """Each line is a rate that holds until the next."""
    found = read_rate_file(_file(tmp_path, f"# mine\n{_HEADER}0,10\n\n60,20.5\n"))
    assert (found.times, found.rates) == ((0.0, 60.0), (10.0, 20.5))


@pytest.mark.parametrize(
    ("text", "line", "field", "remedy"),
    [
        ("time,rate\n0,1\n", 1, "header", "time_seconds,requests_per_second"),
        (f"{_HEADER}0,-4\n", 2, "requests_per_second", "a number from 0 to"),
        (f"{_HEADER}0,many\n", 2, "requests_per_second", "a number from 0 to"),
        (f"{_HEADER}0,nan\n", 2, "requests_per_second", "a number from 0 to"),
        (f"{_HEADER}5,1\n", 2, "time_seconds", "begin with time 0"),
        (f"{_HEADER}0,1\n# so\n9,1\n9,2\n", 5, "time_seconds", "a time after 9"),
        (f"{_HEADER}0,1,2\n", 2, "row", "give 2 cells"),
        (_HEADER, 1, "rows", "give a line"),
    ],
)
def test_bad_line_is_named_with_a_remedy(
    tmp_path: Path, text: str, line: int, field: str, remedy: str
) -> None:
    """A bad line is an error with file, line, field and what to give instead."""
    _, errors = check_rate_file(_file(tmp_path, text))
    assert f"rates.csv line {line}: {field}" in str(errors[0])
    assert remedy in errors[0].remedy


def test_service_of_a_workload_file_has_people(tmp_path: Path) -> None:
    """A service with a rate file gets a Service whose requests are those of the file, and it goes with its
    Deployment.
    """
    workload = open_workload(str(ROOT / "examples" / "shop.csv"), nodes=2, seed=1)
    engine = Engine(TwinConfig(), seed=1)
    engine.add_nodes(workload.nodes)
    engine.load(iter(workload.arrivals))
    engine.advance(engine.config.start_time + 3_600.0)
    account = engine.serving.accounts()["default/shop"]
    wanted = 40 * 600 + 80 * 600 + 160 * 300 + 240 * 300 + 160 * 600 + 80 * 600 + 40 * 600
    assert account.arrived == pytest.approx(wanted, rel=0.01)
    assert account.served > 0.8 * wanted
    assert account.timed_out > 0.0  # 240 requests of 0.02 s are 4.8 cores, three pods have one each
    engine.store.delete("deployments", "default", "shop")
    engine.advance(engine.now + 60.0)
    assert engine.store.find("services", "default", "shop") is None
    del tmp_path


@pytest.mark.parametrize(
    ("cells", "field", "remedy"),
    [
        ("service,file missing.csv", "rate file", "readable UTF-8 file"),
        ("service,file ../rates.csv", "traffic", "beside this one"),
        ("service,file a\0b.csv", "traffic", "beside this one"),
        ("service,steady 5", "traffic", "give one of constant"),
        ("task,constant requests_per_second=5", "traffic", "services only"),
        ("task,,,cpu_percent=70 least=2 most=4", "autoscaler", "services only"),
        ("service,,,cpu_percent=70", "autoscaler", "write cpu_percent=70 least=2 most=24"),
        ("service,,,cpu_percent=70 least=5 most=4", "autoscaler", "most from least"),
        ("service,,,cpu_percent=x least=2 most=4", "autoscaler", "whole number above 0"),
        ("service,,missing.csv", "history", "beside this one"),
        ("service,,../rates.csv", "history", "beside this one"),
        ("task,,w.csv", "history", "services only"),
    ],
)
def test_a_bad_file_of_a_row_is_named(tmp_path: Path, cells: str, field: str, remedy: str) -> None:
    """A row whose traffic or history cannot be had is refused with what to give instead."""
    path = tmp_path / "w.csv"
    path.write_text(
        "record,name,time_seconds,cpu_request_millicores,memory_request_bytes,kind,traffic,history,autoscaler\n"
        f"arrival,a,0,100,1000000,{cells}{',' * (3 - cells.count(','))}\n"
    )
    with pytest.raises(InputError) as error:
        read_trace_file(path)
    assert field in error.value.field
    assert remedy in error.value.remedy


def test_traffic_survives_writing(tmp_path: Path) -> None:
    """A workload that is written and read again has the same traffic, without the rate file."""
    nodes, arrivals, _ = read_trace_file(ROOT / "examples" / "shop.csv")
    write_trace_file(tmp_path / "w.jsonl", nodes, arrivals)
    _, again, _ = read_trace_file(tmp_path / "w.jsonl")
    assert again == arrivals
    read_traffic(again[0].traffic)


def test_a_workload_knows_the_files_of_its_history(tmp_path: Path) -> None:
    """Each file is named once, beside the workload; the cluster itself is the same without."""
    (tmp_path / "past.csv").write_text("series,t_s,value\n")
    path = tmp_path / "w.csv"
    path.write_text(
        "record,name,time_seconds,cpu_request_millicores,memory_request_bytes,kind,history\n"
        "arrival,a,0,100,1000000,service,past.csv\narrival,b,0,100,1000000,service,past.csv\n"
    )
    assert open_workload(str(path), nodes=1, seed=1).history_files == (tmp_path / "past.csv",)


def test_a_service_with_an_autoscaler_is_scaled_and_takes_it_with_it(tmp_path: Path) -> None:
    """The HPA follows the requests, within its bounds, and goes with its Deployment."""
    path = tmp_path / "w.csv"
    path.write_text(
        "record,name,time_seconds,cpu_request_millicores,memory_request_bytes,kind,traffic,autoscaler\n"
        "arrival,web,0,1000,1000000,service,constant requests_per_second=150,"
        "cpu_percent=70 least=2 most=4\n"
    )
    workload = open_workload(str(path), nodes=2, seed=1)
    engine = Engine(TwinConfig(), seed=1)
    engine.add_nodes(workload.nodes)
    engine.load(iter(workload.arrivals))
    engine.advance(engine.config.start_time + 600.0)
    deployment = engine.store.find("deployments", "default", "web")
    assert deployment is not None
    assert deployment.body["spec"]["replicas"] == 4
    engine.store.delete("deployments", "default", "web")
    engine.advance(engine.now + 60.0)
    assert engine.store.find("horizontalpodautoscalers", "default", "web") is None
