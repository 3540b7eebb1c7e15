"""The process `dashboard` of a stack: `python -m foresail.page`, configured by the environment.

It is the page of `services.dashboard`, and what other commands compute for it in processes beside it, over copies of
the log in a temporary folder. All of them only read, as one account on NATS.
"""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bus.process import ProcessContext, run_process
from foresail.compare_answer import CompareAnswer
from foresail.shown_log import ShownStack
from foresail.what_if_answers import WhatIfAnswers
from services.dashboard.__main__ import serve


async def main(context: ProcessContext) -> None:
    """Serve the page until told to stop."""
    with TemporaryDirectory(prefix="foresail-page-") as folder:
        stack = ShownStack(context.environment, Path(folder))
        await serve(context, WhatIfAnswers(stack), lambda other: CompareAnswer(stack, other))


if __name__ == "__main__":
    sys.exit(run_process("dashboard", main))
