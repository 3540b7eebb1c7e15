"""Settings of the dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from schemas.model import DataModel

LOCAL = {"users_file", "tls_certificate", "tls_key", "compare"}
"""Settings that name files of this machine."""


class DashboardSettings(DataModel):
    """Where the page is served, how often it is brought up to date, and how much it remembers."""

    host: str = "127.0.0.1"
    """Address to listen on; any but loopback needs `users_file` and `tls_certificate`, or `trusted_network`."""
    port: int = Field(default=8765, ge=0, le=65_535)
    """TCP port to listen on; 0 takes any free one."""
    host_names: tuple[str, ...] = ("127.0.0.1", "localhost")
    """Names in the Host header that are answered; others get 400, against DNS rebinding."""
    users_file: Path | None = None
    """File of who may read, a line `NAME:SECRET` each; none: everybody who reaches the address."""
    tls_certificate: Path | None = None
    """PEM file of the certificate chain; none: plain HTTP."""
    tls_key: Path | None = None
    """PEM file of the certificate's key."""
    trusted_network: bool = False
    """Whether only people who may read reach the address: a port published to loopback alone, or a proxy that asks."""
    history_messages: int = Field(default=2_000, ge=1)
    """Stored messages read at start; enough for the newest keyframe and about a hundred cycles."""
    tail_rows: int = Field(default=300, ge=1)
    """Rows of the event tail kept for a page that is opened or falls behind."""
    update_seconds: float = Field(default=0.2, gt=0)
    """Least wall seconds between two updates of a page; what happens in between travels at once."""
    heartbeat_seconds: float = Field(default=15.0, gt=0)
    """Wall seconds of silence after which a comment keeps the connection open through proxies."""
    compare: str | None = None
    """A recording, or FOLDER:ARM of an experiment's results, which the page Compare shows beside the running stack."""
    max_pages: int = Field(default=50, ge=1)
    """Pages served at the same time; one more gets 503 (try again later)."""

    def announcement(self) -> dict[str, Any]:
        """Return the settings without paths; none of them can change a result."""
        return self.model_dump(mode="json", exclude=LOCAL)

    @property
    def url(self) -> str:
        """Return the address as a person opens it on this machine."""
        scheme = "http" if self.tls_certificate is None else "https"
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104 - is read, not bound
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"
