"""Freed large blocks go back to the system, in a process of its own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import ctypes
from bus.large_blocks import return_large_blocks

class Blocks(ctypes.Structure):
    NAMES = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in NAMES.split()]

mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = Blocks
{first}
block = bytearray(1 << 20)
del block
before = mallinfo2().hblkhd
block = bytearray(1 << 20)
print(mallinfo2().hblkhd - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
@pytest.mark.parametrize(("first", "least"), [("", 0), ("assert return_large_blocks()", 1 << 20)])
def test_a_large_block_is_a_mapping_of_its_own(first: str, least: int) -> None:
    """The second one, too, which glibc by itself cuts out of its heap."""
    command = [sys.executable, "-c", SCRIPT.format(first=first)]
    mapped = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert mapped >= least
    assert bool(mapped) is bool(least)
