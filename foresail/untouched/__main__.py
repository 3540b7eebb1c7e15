"""`python -m foresail.untouched`: the world without us as a process, beside a served twin.

Its arguments are those of `python -m twin` that make the world (seed, nodes, workload, ...), and its journal.
"""

from __future__ import annotations

import bus.lean_start  # noqa: F401  # isort: skip - before all others
import sys

from bus.errors import ConfigError
from bus.process import ProcessContext, run_process, settings_from
from foresail.untouched.journal_writes import JournaledWrites
from foresail.untouched.service import NAME, run
from foresail.untouched.world import UntouchedWorld
from services.collector.settings import CollectorSettings
from twin.port.process import as_recorded, build_engine, read_settings, recorded_world


async def main(context: ProcessContext) -> None:
    """Play the world again until told to stop.

    Raises:
        ConfigError: an argument does not fit, or there is no journal yet.
    """
    settings = settings_from(context.environment, CollectorSettings)
    twin = read_settings(sys.argv[1:])
    if twin.journal is None or recorded_world(twin.journal) is None:
        raise ConfigError("--journal", twin.journal, "name the journal of a twin that runs")
    engine = build_engine(as_recorded(twin.model_copy(update={"start_time_seconds": None})))
    world = UntouchedWorld(engine, JournaledWrites(twin.journal), settles_at_requests=False)
    await run(
        settings,
        context.bus,
        context.clock,
        context.origin,
        world,
        on_progress=context.progress,
        errors=context.errors,
    )


if __name__ == "__main__":
    sys.exit(run_process(NAME, main))
