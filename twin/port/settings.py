"""What a cluster can be made of: parts, weather, rights, machines. Loads no engine."""

from __future__ import annotations

from twin.config import START_2026, TwinConfig
from twin.config.access import AUTHORIZATIONS
from twin.config.health import WEATHERS, HealthConfig, Weather
from twin.config.kueue import KueueConfig
from twin.config.parts import NAMES
from twin.config.provisioning import (
    PROVISIONERS,
    ClusterAutoscalerConfig,
    KarpenterConfig,
    MachineType,
    NodeGroup,
    Provisioner,
    ProvisioningConfig,
)

__all__ = [
    "AUTHORIZATIONS",
    "NAMES",
    "PROVISIONERS",
    "START_2026",
    "WEATHERS",
    "ClusterAutoscalerConfig",
    "HealthConfig",
    "KarpenterConfig",
    "KueueConfig",
    "MachineType",
    "NodeGroup",
    "Provisioner",
    "ProvisioningConfig",
    "TwinConfig",
    "Weather",
]
