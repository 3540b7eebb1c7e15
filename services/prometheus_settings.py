"""Settings of a Prometheus that says what nodes use."""

from __future__ import annotations

from pydantic import Field

from schemas.model import DataModel

_NAMED = "on (instance) group_left (nodename) node_uname_info"


class PrometheusSettings(DataModel):
    """Where to ask, as whom, and what; the queries are for node-exporter."""

    url: str = Field(default="", pattern=r"^$|^https?://[^\s/@]+(/\S*)?$")
    """Address without a password, such as `http://prometheus:9090`; empty: the Metrics Server is asked."""
    token_file: str = ""
    """File of a bearer token, read again for each question."""
    basic_auth_file: str = ""
    """File that holds `user:password`, read again for each question."""
    ca_file: str = ""
    """Certificate authority of an `https` address; empty: those of the system."""
    timeout_seconds: float = Field(default=10.0, gt=0)
    """Wall seconds after which a question is given up."""
    node_label: str = Field(default="nodename", min_length=1)
    """Label of the answers that holds the name of the node in Kubernetes."""
    cpu_cores: str = f'sum by (nodename) (rate(node_cpu_seconds_total{{mode!~"idle|iowait|steal"}}[2m]) * {_NAMED})'
    """Cores in use, by node."""
    memory_bytes: str = (
        "max by (nodename) ((node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes)"
        f" * {_NAMED})"
    )
    """Memory in use that cannot be given up, by node."""
    sample_seconds: str = (
        f"max by (nodename) (timestamp(node_memory_MemAvailable_bytes) * {_NAMED})"
    )
    """When the newest sample was scraped, as Unix time, by node."""
