"""The process `rollup`: `python -m services.rollup`, configured by the environment."""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from bus.login import Login
from bus.nats_adapter import NatsBus
from bus.process import ProcessContext, run_process
from bus.process_start import settings_from
from bus.streams import StreamDeclaration
from schemas.rollup import days_cluster
from services.rollup.service import NAME, run
from services.rollup.settings import RollupSettings


async def main(context: ProcessContext) -> None:
    """Sum up days until told to stop."""
    environment, cluster = context.environment, context.origin.cluster
    days = await NatsBus.connect(
        environment["FORESAIL_NATS_URL"],
        cluster=days_cluster(cluster),
        stream=StreamDeclaration.of_days(cluster).name,
        name=NAME,
        login=Login.from_environment(environment),
    )
    try:
        settings = settings_from(environment, RollupSettings)
        await run(
            settings, context.bus, days, context.clock, context.origin, on_progress=context.progress
        )
    finally:
        await days.close()


if __name__ == "__main__":
    sys.exit(run_process(NAME, main))
