"""Files that make a cluster, each read within limits or refused: machines, failures, queues, rates."""

from __future__ import annotations

from twin.faults import read_scenario, scenario_of
from twin.faults.scenario import Fault, Scenario, Traffic, Weather
from twin.kubeconfig import CLUSTER
from twin.kueue.configuration import read_configuration
from twin.machines.public_shapes import public_shapes
from twin.machines.reading import check_machines, is_machine_file, read_machines
from twin.settings import parts_left_out, provisioning_of
from twin.traffic import MOST_POINTS, MOST_REQUESTS_PER_SECOND, Recorded, read_traffic
from twin.workloads.rate_file import COLUMNS, check_rate_file, is_rate_file, read_rate_file

__all__ = [
    "CLUSTER",
    "COLUMNS",
    "MOST_POINTS",
    "MOST_REQUESTS_PER_SECOND",
    "Fault",
    "Recorded",
    "Scenario",
    "Traffic",
    "Weather",
    "check_machines",
    "check_rate_file",
    "is_machine_file",
    "is_rate_file",
    "parts_left_out",
    "provisioning_of",
    "public_shapes",
    "read_configuration",
    "read_machines",
    "read_rate_file",
    "read_scenario",
    "read_traffic",
    "scenario_of",
]
