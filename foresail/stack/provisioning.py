"""The machines of the simulated cluster, as the run's settings ask for them."""

from __future__ import annotations

from pathlib import Path

from foresail.run_settings import RunSettings
from twin.port.files import provisioning_of as settings_of
from twin.port.settings import ProvisioningConfig


def provisioning_of(run: RunSettings) -> ProvisioningConfig:
    """Return the settings of machines that come and go.

    Raises:
        InputError: the file of machines is wrong.
    """
    machines = None if run.machines is None else Path(run.machines)
    return settings_of(run.provisioner, machines)
