"""What runs in the container of a Kubernetes job: starts the job, and sends its result home.

The text of this file is handed to the container's own Python (`python -c`), so any image with a Python from 3.8 on
will do, and it imports the standard library alone. A small result goes into the termination message, which stays
in the pod's status; a large one is printed behind a marker, in pieces. Both carry the hash of the result's bytes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

MESSAGE_BYTES = 4_000
"""Of a termination message; a kubelet keeps 4,096."""
MARKER = "FORESAIL-RESULT"
PIECE = 8_192
"""Characters of a printed line; containerd cuts at 16 KiB."""


def send(output: Path, most_bytes: int) -> dict[str, object]:
    """Return the termination message of a result, once what does not fit into it is printed."""
    try:
        size = output.stat().st_size
        if size > most_bytes:
            return {"problem": f"its result has {size} bytes; at most {most_bytes} are taken"}
        data = output.read_bytes()
    except OSError as error:
        return {"problem": f"it wrote no result ({error.strerror})"}
    text = base64.b64encode(gzip.compress(data)).decode()
    sha256 = hashlib.sha256(data).hexdigest()
    whole = {"sha256": sha256, "bytes": len(data), "gzip": text}
    if len(json.dumps(whole)) <= MESSAGE_BYTES:
        return whole
    pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
    for number, piece in enumerate(pieces, 1):
        sys.stdout.write(f"{MARKER} {sha256} {number}/{len(pieces)} {piece}\n")
    sys.stdout.flush()
    return {"sha256": sha256, "bytes": len(data), "pieces": len(pieces)}


def main(words: list[str], environment: dict[str, str]) -> int:
    """Run a job's words; return its exit code."""
    output = Path(environment["FORESAIL_OUTPUT"])
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        code = subprocess.run(words, check=False).returncode
    except OSError as error:
        sys.stdout.write(f"the job did not start: {error}\n")
        return 127
    if code == 0:
        told = send(output, int(environment["FORESAIL_RESULT_BYTES"]))
        Path(environment["FORESAIL_MESSAGE"]).write_text(json.dumps(told), encoding="utf-8")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], dict(os.environ)))  # noqa: TID251 - the container's own
