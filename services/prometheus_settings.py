"""Settings of a Prometheus that is asked."""

from __future__ import annotations

from pydantic import Field

from schemas.model import DataModel


class PrometheusSettings(DataModel):
    """Where to ask, as whom, and what (docs/prometheus.md)."""

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
    queries_file: str = ""
    """TOML file of queries that take the place of the default ones."""
    node_label: str = ""
    """Label of node queries that holds the node's name in Kubernetes; empty: as the queries say."""
    cpu_cores: str = ""
    """Query of the cores in use, by node; it and the next two go before the file's."""
    memory_bytes: str = ""
    sample_seconds: str = ""
