"""`python -m bus.health_check [healthz|readyz]`: ask the process of this container how it is.

Exit code 0: well; 1: not, with its answer on stderr. A container's health check runs every few
seconds, so this imports the standard library only.
"""

from __future__ import annotations

import os
import sys
from http.client import HTTPConnection, HTTPException
from typing import TextIO

TIMEOUT_SECONDS = 3.0


def check(port: int, question: str, complain: TextIO) -> int:
    """Ask `question` on a loopback port; return the exit code."""
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", f"/{question}")
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
    except (OSError, HTTPException) as error:
        complain.write(f"no answer on port {port}: {error}\n")
        return 1
    finally:
        connection.close()
    if response.status != 200:
        complain.write(text)
    return int(response.status != 200)


if __name__ == "__main__":
    sys.exit(
        check(
            int(os.environ.get("FORESAIL_HEALTH_PORT", "9100")),  # noqa: TID251 - the last frame
            sys.argv[1] if len(sys.argv) > 1 else "readyz",
            sys.stderr,
        )
    )
