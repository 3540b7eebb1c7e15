"""Node cells: the risk of every node in two characters, so that 5,000 nodes travel as 10 kB.

`00` to `99` is the risk in percent (99 for everything above), `zz` a node asleep, `!!` one that is
not ready, `--` one without a prediction.
"""

from __future__ import annotations

from schemas.observation import ObservedNodes
from schemas.prediction import RiskTable

ASLEEP = "zz"
NOT_READY = "!!"
UNKNOWN = "--"
HIGHEST = 99


def cells_of(nodes: ObservedNodes, risk: RiskTable | None) -> str:
    """Return two characters per node, in the order of `nodes.ids`."""
    risks = {} if risk is None else dict(zip(risk.ids, risk.risk_ratio, strict=True))
    columns = zip(nodes.ids, nodes.ready, nodes.power_state, strict=True)
    return "".join(_cell(ready, power, risks.get(name)) for name, ready, power in columns)


def _cell(ready: bool, power_state: str, risk_ratio: float | None) -> str:
    if power_state != "on":
        return ASLEEP
    if not ready:
        return NOT_READY
    if risk_ratio is None:
        return UNKNOWN
    return f"{min(HIGHEST, int(risk_ratio * 100)):02d}"
