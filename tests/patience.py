"""How long a test waits for what should happen: until it is plain that it never will.

A limit in a test ends what hangs; it does not judge speed. A correct run waits for its condition and goes on at
once, on a machine many times slower and beside other work, too.
"""

from __future__ import annotations

HANGS_SECONDS = 600.0
"""After so long, what a test waits for does not come: a stack, a container, a server's answer."""
