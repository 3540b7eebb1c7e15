"""Settings of the tracing process."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from bus.errors import ConfigError

TRACES_PATH = "/v1/traces"


class TracingSettings(BaseModel):
    """Where spans go and how they are sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    otlp_url: str = "http://127.0.0.1:4318"
    """OTLP/HTTP receiver; without a path, /v1/traces is meant."""
    batch_spans: int = Field(default=512, ge=1, le=8_192)
    """Spans sent at once, at most."""
    linger_seconds: float = Field(default=1.0, gt=0, le=60)
    """How long a span waits for others, at most."""
    timeout_seconds: float = Field(default=10.0, gt=0, le=300)
    """How long the receiver may take, retries included."""


def endpoint(url: str) -> str:
    """Return the address spans are posted to.

    Raises:
        ConfigError: it is no HTTP address.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError("--otlp", url, "give an address such as http://127.0.0.1:4318")
    return url if parts.path.strip("/") else url.rstrip("/") + TRACES_PATH
