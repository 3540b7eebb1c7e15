"""The cases of each provisioner, and what plays them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.config import TwinConfig
from twin.config.provisioning import (
    ClusterAutoscalerConfig,
    KarpenterConfig,
    MachineType,
    NodeGroup,
    Provisioner,
    ProvisioningConfig,
    WarmPoolConfig,
)
from twin.engine import Engine
from twin.tests.provisioners.case_runner import CaseRun, read_cases
from twin.workloads.arrival import WorkloadArrival

GIB = 2**30
Build = Callable[..., Engine]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes `case` one run for each row of its module's table."""
    if "case" in metafunc.fixturenames:
        _, cases = read_cases(metafunc.module.TABLE)
        metafunc.parametrize("case", cases, ids=[case["name"] for case in cases])


@pytest.fixture
def play(request: pytest.FixtureRequest) -> Any:
    """Play a case with the provisioner of the module: play(case)."""

    def played(case: dict[str, Any]) -> CaseRun:
        machines, _ = read_cases(request.module.TABLE)
        run = CaseRun(request.module.PROVISIONER, machines, case)
        run.play()
        return run

    return played


@pytest.fixture
def build() -> Build:
    """Build a cluster without nodes of its own that rents machines for what arrives: build(name)."""

    def built(provisioner: Provisioner, seed: int = 4) -> Engine:
        machine = MachineType("m", 4_000, 16 * GIB, 0.2, 0.06, zones=("a", "b"),
                              interruptions_per_hour=3.0)  # fmt: skip
        config = ProvisioningConfig(
            provisioner=provisioner,
            machines=(machine,),
            groups=(NodeGroup("g", "m", most=20, start=1, spot=True),),
            cluster_autoscaler=ClusterAutoscalerConfig(
                unneeded_seconds=60.0, delay_after_add_seconds=60.0
            ),
            karpenter=KarpenterConfig(interruption_queue="notices"),
            warm_pool=WarmPoolConfig(size=6, warm=4),
        )
        engine = Engine(TwinConfig(provisioning=config), seed=seed)
        engine.load(iter([_arrival(number) for number in range(60)]))
        return engine

    return built


def _arrival(number: int) -> WorkloadArrival:
    return WorkloadArrival(
        time_seconds=number * 20.0,
        name=f"w{number}",
        kind="service" if number % 3 else "task",
        cpu_request_millicores=700 + 100 * (number % 5),
        memory_request_bytes=GIB,
        gpus=0,
        cpu_usage_ratio=0.5,
        memory_usage_ratio=0.5,
        duration_seconds=150.0 + 40.0 * (number % 7),
        outcome="run" if number % 3 else "succeed",
    )
