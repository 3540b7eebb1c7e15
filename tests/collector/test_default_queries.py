"""What the default queries make of exporters' series, evaluated by Prometheus itself (`promtool test rules`)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml

from proofs.observability.prometheus import MISSING
from services.prometheus_queries import PURPOSES

AT = 300.0
PLACES = 21
"""Samples, one every 15 s, up to AT."""
PROMTOOL = shutil.which("promtool")
pytestmark = pytest.mark.skipif(PROMTOOL is None, reason=MISSING)


def rising(per_second: float) -> str:
    """Return the samples of a counter, in promtool's short form."""
    return f"0+{15.0 * per_second:g}x{PLACES - 1}"


def steady(value: float) -> str:
    """Return the samples of a gauge."""
    return f"{value:g}+0x{PLACES - 1}"


def ask(purpose: str, series: dict[str, str], pods: str = ".+") -> dict[str, float]:
    """Return the answer to a default query at AT, rounded; labels as `name=value,name=value`.

    A test that expects another answer makes promtool say what it got.
    """
    query = PURPOSES[purpose].default
    assert query is not None
    asked = f"round({query.text.replace('$pods', pods)}, 1e-6)"
    expected = {"expr": asked, "eval_time": "300s", "exp_samples": [{"labels": "none", "value": 0}]}
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    test = {"interval": "15s", "input_series": inputs, "promql_expr_test": [expected]}
    with TemporaryDirectory() as folder:
        file = Path(folder, "test.yml")
        file.write_text(yaml.safe_dump({"evaluation_interval": "15s", "tests": [test]}))
        command = [str(PROMTOOL), "test", "rules", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    found = re.search(r"^\s*got:(.*)$", said, re.MULTILINE)
    assert found is not None, said
    answers = re.findall(r"\{([^{}]*)\} ([-+.0-9eE]+)", found[1])
    return {
        re.sub(r'\s*(\w+)="([^"]*)"', r"\1=\2", labels): float(value) for labels, value in answers
    }


def test_power_is_of_the_first_meter_that_a_node_has() -> None:
    """A machine before its CPUs; what Kepler models, and a meter that says 0, is none."""
    uname = {
        f'node_uname_info{{instance="10.0.0.{number}:9100",nodename="n{number}"}}': steady(1.0)
        for number in range(1, 7)
    }
    platform, package = "kepler_node_platform_joules_total", "kepler_node_package_joules_total"
    rapl = 'node_rapl_package_joules_total{instance="10.0.0.5:9100"'
    answer = ask(
        "node_watts",
        {
            **uname,
            f'{platform}{{instance="n1",mode="idle",source="acpi"}}': rising(100.0),
            f'{platform}{{instance="n1",mode="dynamic",source="acpi"}}': rising(50.0),
            f'{package}{{instance="n1",mode="idle",source="rapl-sysfs"}}': rising(40.0),
            f'{platform}{{instance="n2",mode="idle",source="trained_power_model"}}': rising(9.0),
            f'{package}{{instance="n2",mode="idle",source="trained_power_model"}}': rising(9.0),
            'node_hwmon_power_average_watt{instance="10.0.0.3:9100",chip="lnxsybus:00_acpi000d:00"}': steady(211.0),
            'node_hwmon_power_average_watt{instance="10.0.0.3:9100",chip="amdgpu"}': steady(300.0),
            'node_hwmon_power_average_watt{instance="10.0.0.4:9100",chip="lnxsybus:00_acpi000d:00"}': steady(0.0),
            'kepler_node_cpu_watts{node_name="n4",zone="package",path="/a"}': steady(30.0),
            'kepler_node_cpu_watts{node_name="n4",zone="core",path="/b"}': steady(20.0),
            f'{platform}{{instance="n5",mode="idle",source="acpi"}}': rising(0.0),
            f'{rapl},index="0",path="/sys/intel-rapl:0"}}': rising(25.0),
            f'{rapl},index="1",path="/sys/intel-rapl:1"}}': rising(25.0),
            f'{rapl},index="0",path="/sys/intel-rapl-mmio:0"}}': rising(25.0),
        },
    )  # fmt: skip

    watts = {}
    for labels, value in answer.items():
        named = dict(pair.split("=") for pair in labels.split(","))
        watts[named["nodename"]] = (named["scope"], value)
    assert watts == {
        "n1": ("platform", 150.0),
        "n3": ("platform", 211.0),
        "n4": ("package", 30.0),
        "n5": ("package", 50.0),
    }


def test_cores_are_those_of_all_modes_and_cpus_that_work() -> None:
    """Summed, whatever the number of modes; waiting and being robbed is no work."""
    modes = {"user": 0.4, "system": 0.1, "idle": 0.2, "iowait": 0.2, "steal": 0.1}
    series = {
        f'node_cpu_seconds_total{{instance="a:9100",cpu="{cpu}",mode="{mode}"}}': rising(rate)
        for cpu in range(2)
        for mode, rate in modes.items()
    }
    series['node_uname_info{instance="a:9100",nodename="n1"}'] = steady(1.0)

    assert ask("node_cpu_cores", series) == {"nodename=n1": 1.0}


def test_containers_are_without_pause_sums_and_their_former_selves() -> None:
    """A restarted container has two cgroups for some minutes; others' pods are not asked for."""
    named = 'namespace="shop",pod="web"'
    cpu = "container_cpu_usage_seconds_total"
    answer = ask(
        "pod_cpu_cores",
        {
            f'{cpu}{{{named},container="c",id="/a"}}': rising(0.5),
            f'{cpu}{{{named},container="c",id="/b"}}': rising(0.3),
            f'{cpu}{{{named},container="POD",id="/p"}}': rising(0.01),
            f'{cpu}{{{named},container="",id="/"}}': rising(0.8),
            f'{cpu}{{namespace="shop",pod="web-2",container="c",id="/c"}}': rising(1.0),
        },
        pods="web",
    )

    assert answer == {"container=c,namespace=shop,pod=web": 0.5}


def test_requested_cores_are_those_of_pods_that_hold_them() -> None:
    """A pod that has ended, and one without a node, request nothing of a machine."""
    phases = {"web": "Running", "starts": "Pending", "done": "Succeeded", "waits": "Pending"}
    series = {
        f'kube_pod_status_phase{{namespace="shop",pod="{pod}",phase="{phase}"}}': steady(
            float(phase == phases[pod])
        )
        for pod in phases
        for phase in ("Pending", "Running", "Succeeded")
    }
    amount = "kube_pod_container_resource_requests"
    for pod, cores in (("web", 2.0), ("starts", 0.5), ("done", 4.0), ("waits", 8.0)):
        node = "" if pod == "waits" else "n1"
        labels = f'namespace="shop",pod="{pod}",container="c",node="{node}"'
        series[f'{amount}{{{labels},resource="cpu"}}'] = steady(cores)
        series[f'{amount}{{{labels},resource="memory"}}'] = steady(1e9)

    assert ask("requested_cores", series) == {"": 2.5}


def test_requests_without_a_service_are_nobodys() -> None:
    """A metric of that name from elsewhere does not make the answer one without labels."""
    answer = ask(
        "service_requests",
        {
            'http_requests_total{namespace="shop",service="web",code="200",pod="a"}': rising(3.0),
            'http_requests_total{namespace="shop",service="web",code="200",pod="b"}': rising(4.0),
            'http_requests_total{job="gateway",code="200"}': rising(9.0),
            'http_requests_total{namespace="shop",service="web",status="200"}': rising(9.0),
        },
    )

    assert answer == {"code=200,namespace=shop,service=web": 7.0}
    assert ask("service_requests", {'http_requests_total{job="x"}': rising(1.0)}) == {}
