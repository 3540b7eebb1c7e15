"""What `foresail doctor` finds of node agents: which nodes have one, which version, and what is missing without."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bus.errors import ForesailError, Temporary
from foresail.findings import Finding
from schemas.node_annotations import NodeLimit
from schemas.node_limits import LimitState
from services.node_agent_lists import NodeAgents, read_node_agents

CHECK = "node agents"
_MOST_NAMES = 3


async def agents_finding(kubeconfig: str, context: str | None) -> Finding:
    """Ask which nodes have an agent."""
    from services.official_client import OfficialClientTransport  # noqa: PLC0415 - the Kubernetes client takes a second to import

    try:
        transport = OfficialClientTransport(Path(kubeconfig), context)
        try:
            agents = await read_node_agents(transport)
        finally:
            await transport.close()
    except ForesailError as error:
        return Finding(CHECK, ok=False, found=str(error), made=not isinstance(error, Temporary))
    if agents is None:
        return Finding(CHECK, ok=False, found="nodes may not be read", made=False)
    return judge_agents(agents)


def judge_agents(agents: NodeAgents) -> Finding:
    """Say what the agents of a cluster come to; that there are none is no fault."""
    if not agents.live and not agents.silent:
        text = f"none on {agents.nodes} nodes: clock limits (dvfs) are no candidate"
        return Finding(CHECK, ok=True, found=text)
    refused = {
        name: one.text
        for name, report in sorted(agents.live.items())
        for one in report.limits
        if one.state is LimitState.REFUSED
    }
    parts = [_count_text(agents)]
    if agents.silent:
        parts.append(f"silent on {_some(agents.silent)}")
    parts += [f"{name} refuses {text}" for name, text in list(refused.items())[:_MOST_NAMES]]
    remedy = (
        ""
        if not agents.silent
        else "look at its pod: kubectl -n foresail-node-agent get pods -o wide"
    )
    return Finding(CHECK, not agents.silent and not refused, "; ".join(parts), remedy)


def _count_text(agents: NodeAgents) -> str:
    versions = Counter(report.version for report in agents.live.values())
    able = Counter(limit for report in agents.live.values() for limit in report.can)
    what = [f"{limit.word} on {able[limit]}" for limit in NodeLimit if able[limit]]
    shown = ", ".join(f"{version} on {count}" for version, count in sorted(versions.items()))
    means = ", ".join(what) or "means for no limit"
    return f"{len(agents.live)} of {agents.nodes} nodes have one ({shown}); {means}"


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_NAMES
    text = ", ".join(names[:_MOST_NAMES])
    return f"{text} and {more} more" if more > 0 else text
