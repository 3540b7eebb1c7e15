"""Whether a node, an agent or a cycle that was asked for exists, in a log or a recording."""

from __future__ import annotations

from contextlib import aclosing

from bus.errors import InputError
from bus.events import cycle_of_message, read_entry, read_events
from foresail.log_source import Source
from inputs.close_matches import remedy_for
from schemas import subjects
from schemas.actions import AgentName
from schemas.agents import agent_names
from schemas.frames import FramedData
from schemas.observation import Observation
from schemas.proposal import Proposal


async def check_node(source: Source, node: str, *, now: bool) -> None:
    """Refuse a node that no observation of the source ever had; a source without one knows nothing.

    Args:
        source: where to look.
        node: the name that was asked for.
        now: look only at the newest state, not through the whole log.

    Raises:
        InputError: there is no such node.
    """
    known: set[str] = set()
    start_seq = await _newest_keyframe(source) if now else 1
    messages = source.messages(Observation.PATTERN, start_seq=start_seq)
    async with aclosing(read_events(messages)) as entries:
        async for entry in entries:
            data = None if entry.event is None else entry.event.data
            known.update(_node_names(data) if isinstance(data, FramedData) else ())
            if node in known:
                return
    if known:
        raise InputError("--node", node, f"there is no such node; {remedy_for(node, known)}")


async def check_agent(source: Source, agent: AgentName) -> None:
    """Refuse an agent that is neither installed here nor has a proposal in the source.

    Raises:
        InputError: there is no such agent.
    """
    layer = Proposal.PATTERN[0]
    if await source.newest(f"{layer}.{agent}") is not None:
        return
    known = set(agent_names())
    async with aclosing(source.messages((".".join(Proposal.PATTERN),))) as messages:
        async for message in messages:
            known.add(subjects.parse(message.subject).tokens[-1])
    pattern = f"{layer}.{agent}"
    raise InputError("LAYER", pattern, remedy_for(pattern, [f"{layer}.{name}" for name in known]))


async def check_cycle(source: Source, cycle: int, field: str = "--cycle") -> None:
    """Refuse a cycle of which the source holds no event, naming the cycles that it holds.

    Args:
        source: where to look.
        cycle: the number that was asked for.
        field: the argument that gave it.

    Raises:
        InputError: there is no such cycle.
    """
    known: set[int] = set()
    async with aclosing(source.messages()) as messages:
        async for message in messages:
            known.add(cycle_of_message(message))
            if cycle in known:
                return
    known.discard(-1)
    known_text = (
        f"it holds cycles {min(known)} to {max(known)}" if known else "it holds no cycle yet"
    )
    end = f"; read up to the damage: {source.damage}" if source.damage else ""
    raise InputError(field, cycle, f"there is no such cycle; {known_text}{end}")


async def _newest_keyframe(source: Source) -> int:
    """Return a position not behind the keyframe from which the newest state is made."""
    newest = await source.newest(Observation.PATTERN[0])
    if newest is None:
        return 1
    event = read_entry(newest).event
    if event is None:
        return 1
    data = event.data
    keyframe_cycle = data.frame.keyframe_cycle if isinstance(data, FramedData) else 0
    return await source.start_of_cycle(keyframe_cycle)


def _node_names(data: FramedData) -> tuple[str, ...]:
    """Return the names in a keyframe, and those that a delta adds."""
    if data.frame.deltas is not None:
        delta = data.frame.deltas.get("nodes")
        return () if delta is None else delta.added
    table = getattr(data, "nodes", None)
    return () if table is None else tuple(table.ids)
