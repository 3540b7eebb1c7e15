"""Settings of the twin's own process, from its command line."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from inputs.errors import ConfigError
from twin.config.access import Authorization
from twin.config.health import Weather
from twin.config.kueue import KueueConfig
from twin.config.parts import NAMES, unknown_parts
from twin.config.provisioning import Provisioner, ProvisioningConfig
from twin.kueue.configuration import read_configuration
from twin.machines.reading import read_machines


class TwinSettings(BaseModel):
    """The twin's settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    """Address to listen on; loopback by default."""
    port: int = Field(default=0, ge=0, le=65_535)
    """Port to listen on; 0: a free one."""
    advertise: str = ""
    """Host name that the kubeconfig files give to clients; empty: the address listened on."""
    seed: int = Field(default=7, ge=0)
    """Every random stream of the cluster derives from it."""
    speed: float = Field(default=1.0, gt=0, le=3_600)
    """Cluster seconds per wall second."""
    nodes: int = Field(default=100, ge=1, le=5_000)
    """How many nodes."""
    workload: str = "openb"
    """idle, a fitted model, or a workload file."""
    scenario: Path | None = None
    """File of faults that are played from the start (docs/twin.md); none: nothing goes wrong."""
    provisioner: Provisioner = "none"
    """Who adds and removes machines: none, cluster-autoscaler, karpenter or warm-pool (docs/twin/machines.md)."""
    machines: Path | None = None
    """File of machines, node groups and what the cloud grants; none: the built-in table."""
    weather: Weather = "off"
    """How much goes wrong by itself: off, mild or rough (docs/twin/health.md)."""
    authorization: Authorization = "identities"
    """identities: fixed rules for the twin's own users; rbac: Roles and bindings as well
    (docs/twin/api.md)."""
    server_objects: bool = True
    """Whether what an API server makes for itself is there, such as its APIServices and its Lease (docs/twin/api.md); a
    world that a journal continues has them if it had them."""
    audit_log: Path | None = None
    """File to which the audit log is appended, in the form of Kubernetes; none: nothing is written."""
    without: str = ""
    """Parts of the control plane that are left out, with commas between (docs/twin/own-controllers.md): scheduler,
    controller-manager, hpa, deployment and others."""
    run_commands: bool = False
    """true: containers of the image foresail:local are processes of this machine (docs/twin/commands.md)."""
    command_seconds: float = Field(default=3_600.0, gt=0)
    """Wall seconds that such a process may run."""
    command_megabytes: int = Field(default=1_024, ge=16)
    """Memory of such a container that names no limit."""
    kueue: str = "off"
    """off, on, or a file with Kueue's Configuration: whether Kueue's queues are there
    (docs/twin/kueue.md)."""
    kubeconfig_dir: Path = Path()
    """Folder of the kubeconfig files that are written."""
    journal: Path | None = None
    """File that keeps API writes and time, so that a restarted twin continues its world; none: it
    ends with the process.
    """
    start_time_seconds: float | None = None
    """Cluster time at the start, seconds since the Unix epoch; none: that of the journal, or now."""


def parts_left_out(text: str) -> tuple[str, ...]:
    """Return the parts that `--without` names, sorted; raises ConfigError for one that is none."""
    names = sorted({name.strip() for name in text.split(",") if name.strip()})
    if wrong := unknown_parts(names):
        raise ConfigError("--without", wrong[0], f"give some of {', '.join(NAMES)}")
    return tuple(names)


def read_settings(arguments: list[str]) -> TwinSettings:
    """Read the command line.

    Raises:
        ConfigError: a value does not fit.
    """
    parser = argparse.ArgumentParser(
        prog="python -m twin", description="The embedded cluster as a process of its own."
    )
    for name, field in TwinSettings.model_fields.items():
        if name != "start_time_seconds":
            parser.add_argument(f"--{name.replace('_', '-')}", default=None, help=field.description)
    parser.add_argument(
        "--start-time",
        default=None,
        metavar="RFC3339",
        help="cluster time at the start (default: the journal's, or now)",
    )
    given = {
        name: value
        for name, value in vars(parser.parse_args(arguments)).items()
        if value is not None
    }
    start = given.pop("start_time", None)
    try:
        if start is not None:
            given["start_time_seconds"] = datetime.fromisoformat(start).timestamp()
        return TwinSettings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(
            f"--{str(first['loc'][0]).replace('_', '-')}", first["input"], first["msg"]
        ) from error
    except ValueError as error:
        raise ConfigError("--start-time", start, "write it as 2026-01-01T00:00:00Z") from error


def provisioning_of(provisioner: Provisioner, machines: Path | None) -> ProvisioningConfig:
    """Return the settings of machines that come and go.

    Raises:
        InputError: the file of machines is wrong.
    """
    config = ProvisioningConfig(provisioner=provisioner)
    return config if machines is None else read_machines(machines, config)


def kueue_of(choice: str) -> KueueConfig:
    """Return the settings of Kueue: `off`, `on`, or those of a file.

    Raises:
        InputError: the file of its Configuration is wrong.
    """
    if choice in ("off", "on"):
        return KueueConfig(served=choice == "on")
    return read_configuration(Path(choice))
