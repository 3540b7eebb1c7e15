"""Whole numbers for names: the keys under which history counts what happened live.

A code is a hash of the name, so that it needs no dictionary and is the same after a restart.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from functools import lru_cache

CODE_BITS = 62
"""Codes are positive whole numbers of 64 bits."""
TASK_BITS = 31
_RUN_SUFFIX = re.compile(r"(-[0-9a-f]{8,10})?(-[0-9]+)+$")
"""What a controller adds to the name of each run: a hash, a time or a number."""


@lru_cache(maxsize=200_000)
def code_of(name: str) -> int:
    """Return the code of a workload, namespace or node; that two names share one is all but impossible."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - CODE_BITS)


def task_of(uid: str) -> int:
    """Return a pod's number within its workload."""
    return zlib.crc32(uid.encode()) & ((1 << TASK_BITS) - 1)


def parts_of(row_id: str) -> tuple[str, str, str]:
    """Return node, workload and namespace of a placement's row id, `<node>|<workload>`."""
    node, _, workload = row_id.partition("|")
    return node, workload, workload.partition("/")[0]


def bare_workload(pod_name: str) -> str:
    """Return the workload under which placements count a pod without owner.

    Args:
        pod_name: `<namespace>/<name>`.
    """
    namespace, _, pod = pod_name.partition("/")
    return f"{namespace}/Pod/{pod}"


@lru_cache(maxsize=200_000)
def program_of(workload: str) -> str:
    """Return the workload's name without what tells its runs apart: `batch/Job/report-28391` and
    `batch/Job/report-28392` are one program.

    Args:
        workload: `<namespace>/<kind>/<name>`.
    """
    return _RUN_SUFFIX.sub("", workload)
