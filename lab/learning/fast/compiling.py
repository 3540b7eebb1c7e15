"""numba where it is installed, and nothing where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    import numba  # of the extra `learn`
except ImportError:
    COMPILED = False

    def compiled(function: Function) -> Function:
        """Return a function as it is."""
        return function

else:
    COMPILED = True

    def compiled(function: Function) -> Function:
        """Return a function as machine code, made at its first call and kept beside its file; threads may share it.

        Without counting references, which is safe as no function here makes an array, and eight times as fast: else
        every call counts each array of its tuples.
        """
        made: Function = numba.njit(cache=True, nogil=True, _nrt=False)(function)
        return made
