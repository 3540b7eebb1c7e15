"""Settings of the node agent."""

from __future__ import annotations

from pydantic import Field

from schemas.model import DataModel
from schemas.node_limits import MOST_LEASE_SECONDS

NODE_VARIABLE = "FORESAIL_NODE_NAME"
"""The node that it runs on; a DaemonSet fills it in from `spec.nodeName`."""


class NodeAgentSettings(DataModel):
    """The node agent, one process a node: where the machine's files are, and what it refuses."""

    cpu_folder: str = Field(default="/sys/devices/system/cpu", pattern=r"^/")
    """Where the kernel shows its CPUs; of it only `cpufreq/policy*/scaling_max_freq` is written."""
    cgroup_folder: str = Field(default="", pattern=r"^($|/)")
    """The cgroup v2 that the kubelet was given as its `cgroupRoot`, such as `/sys/fs/cgroup/foresail.slice`; of it only
    `cpu.max` is written, and nothing below it. Empty: CPU caps are refused."""
    state_folder: str = Field(default="/var/lib/foresail/node-agent", pattern=r"^/")
    """Where it keeps what it has changed, so that the next start gives it back."""
    least_clock_ratio: float = Field(default=0.3, gt=0, le=1)
    """A lower clock limit is refused, and one below what the hardware can do is in any case."""
    least_cpu_ratio: float = Field(default=0.2, gt=0, le=1)
    """A lower CPU cap is refused: the pods that keep the node working are under it, too."""
    most_lease_seconds: float = Field(default=MOST_LEASE_SECONDS, gt=0)
    """A limit that is to stand for longer than this from now on is refused."""
    heartbeat_seconds: float = Field(default=300.0, ge=1)
    """How often it says that it lives; after three that are missed nobody relies on it."""
    check_seconds: float = Field(default=10.0, ge=0.1)
    """How often it reads back what is in force, besides after each change."""
    request_timeout_seconds: float = Field(default=10.0, gt=0)
    """Wall seconds after which a request to the API server is given up."""
