"""unready_nodes: where many nodes turn NotReady together nothing is begun, since it is rather the network or the
control plane than the nodes (the zone rule of Kubernetes' node lifecycle controller).

Zone by zone: an outage of one holds what is about its nodes, an outage of all, or of that share of the whole cluster,
holds everything.
"""

from __future__ import annotations

from projections.standing import GIVES_BACK
from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guard_discovery import Guard, Stage
from services.executor.question import Question, guard_check

LEAST_NODES = 3
"""As the node controller: fewer unready nodes are no outage of a zone."""


def check(question: Question) -> GuardCheck | None:
    """Fail while too large a share of the nodes is not ready; what gives back is never held."""
    limit, seen = question.settings.brake_ratio, question.state.seen
    planned = question.planned
    if not limit or not seen.nodes or planned is None or planned.direction in GIVES_BACK:
        return None
    zones = {one.zone: (one.nodes - one.nodes_ready, one.nodes) for one in seen.zones}
    unready, nodes = seen.nodes_unready, seen.nodes
    where = ""
    stands = _is_outage(unready, nodes, limit) or (
        len(zones) > 1 and all(_is_outage(*counts, limit) for counts in zones.values())
    )
    if not stands and question.zone in zones:
        unready, nodes = zones[question.zone]
        where = f" of zone {question.zone}"
        stands = _is_outage(unready, nodes, limit)
    share = unready / nodes
    text = (
        f"{unready} of {nodes} nodes{where} are not ready; "
        f"nothing is begun {'there ' if where else ''}until fewer than {limit:.0%} are"
    )
    return guard_check(
        "unready_nodes",
        passed=not stands,
        reason=Reason.UNREADY_NODES,
        measured=share,
        limit=limit,
        unit="ratio",
        text=text if stands else "",
    )


def _is_outage(unready: int, nodes: int, limit: float) -> bool:
    return unready >= LEAST_NODES and unready / nodes >= limit


GUARDS = (Guard("unready_nodes", Stage.BEFORE_ACTING, 2, check),)
