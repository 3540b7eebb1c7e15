"""Names of Kubernetes objects and of files, made of ids that people choose freely."""

from __future__ import annotations

import hashlib
import re

LONGEST_OBJECT_NAME = 52
"""Characters: a Job's pods add five and a dash to its name, an attempt three, and a label holds 63."""
_OTHERS = re.compile("[^a-z0-9]+")


def object_name(text: str) -> str:
    """Return an id as a name that Kubernetes takes: `sess001_0001` is `sess001-0001`.

    Lower case, everything but letters and digits a dash, `job-` in front where it does not begin with a letter.
    What is too long ends with a hash of the whole, so that two long ids stay two.
    """
    name = _OTHERS.sub("-", text.lower()).strip("-")
    if not name or not name[0].isalpha():
        name = f"job-{name}".rstrip("-")
    if len(name) > LONGEST_OBJECT_NAME:
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        name = f"{name[: LONGEST_OBJECT_NAME - 9].rstrip('-')}-{digest}"
    return name
