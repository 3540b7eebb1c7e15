"""Processes start without what they never use."""

from __future__ import annotations

import subprocess
import sys


def test_a_process_on_the_bus_loads_no_http_client() -> None:
    """The NATS client comes without aiohttp, and aiohttp is still there for those who import it."""
    code = (
        "import sys, services.referee.__main__; "
        "assert 'aiohttp' not in sys.modules; "
        "import aiohttp; assert aiohttp.ClientSession"
    )

    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
