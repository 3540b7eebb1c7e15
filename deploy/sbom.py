"""Write a software bill of materials (CycloneDX 1.6, JSON): `python -m deploy.sbom [FILE]`, `make sbom`.

It is made from requirements.lock and the licences of the installed packages, and is the same for the
same lock: no time, no random number. It is not committed: it would repeat each hash of the lock, and
be out of date after each `make lock` that did not repeat it.
"""

from __future__ import annotations

import hashlib
import json
import sys
import uuid
from pathlib import Path
from typing import Any

from deploy.locked import LOCK, Locked, licence_of, read_lock
from schemas.config import CODE_VERSION

SPEC_VERSION = "1.6"
DEFAULT = Path("build") / "sbom.cdx.json"
SPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "foresail.dev")
ITSELF = f"pkg:generic/foresail@{CODE_VERSION}"


def bill(text: str) -> dict[str, Any]:
    """Return the bill of materials of a lock file's text.

    Raises:
        ValueError: the lock cannot be read.
    """
    packages = read_lock(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "serialNumber": f"urn:uuid:{uuid.uuid5(SPACE, digest)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": ITSELF,
                "name": "foresail",
                "version": CODE_VERSION,
                "purl": ITSELF,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
            "properties": [{"name": "foresail:requirements.lock:sha256", "value": digest}],
        },
        "components": [_component(one) for one in packages],
        "dependencies": [{"ref": ITSELF, "dependsOn": [_purl(one) for one in packages]}],
    }


def _component(one: Locked) -> dict[str, Any]:
    licence = licence_of(one.name)
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": _purl(one),
        "name": one.name,
        "version": one.version,
        "purl": _purl(one),
        "scope": "optional" if one.marker else "required",
        "licenses": [{"expression": licence}] if licence else [],
        # The files that may be installed; which of them is, depends on the machine.
        "externalReferences": [
            {
                "type": "distribution",
                "url": _purl(one),
                "hashes": [{"alg": "SHA-256", "content": value} for value in one.sha256],
            }
        ],
    }
    if one.marker:
        made["properties"] = [{"name": "foresail:marker", "value": one.marker}]
    return made


def _purl(one: Locked) -> str:
    return f"pkg:pypi/{one.name}@{one.version}"


def main(arguments: list[str]) -> int:
    """Write the file and say how many packages it names."""
    target = Path(arguments[0]) if arguments else DEFAULT
    made = bill(LOCK.read_text(encoding="utf-8"))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{target}: {len(made['components'])} packages\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
