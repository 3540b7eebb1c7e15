"""Make the picture of a day of the twin, docs/twin/day.svg: `python -m docs.make_day`.

It plays examples/day.csv with what goes wrong in examples/day.yaml, with Cluster Autoscaler, as
`foresail twin show` does. A test plays it anew and compares.
"""

from __future__ import annotations

from pathlib import Path

from foresail.day.day import Day
from foresail.day.pages import day_picture
from foresail.day.samples import play_day
from twin.port.engine import Engine
from twin.port.files import provisioning_of, read_scenario
from twin.port.settings import TwinConfig
from twin.port.workloads import open_workload

DOCS = Path(__file__).parent
PICTURE = DOCS / "twin" / "day.svg"
EXAMPLES = DOCS.parent / "examples"
SEED, SECONDS, NODES = 7, 86_400.0, 3
TITLE = "24 h of examples/day.csv"


def example_day() -> Day:
    """Play the day of the picture."""
    workload = open_workload(str(EXAMPLES / "day.csv"), nodes=NODES, seed=SEED)
    config = TwinConfig(provisioning=provisioning_of("cluster-autoscaler", None))
    engine = Engine(config, SEED)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    engine.faults.play(read_scenario(EXAMPLES / "day.yaml"))
    return play_day(engine, SECONDS, lambda _: None)


def main() -> int:
    """Write the picture."""
    PICTURE.write_text(day_picture(example_day(), TITLE), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
