"""What a session's log says of the Ray cluster that it runs on: when it begins, when it ends, and when it is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from bus.errors import ForesailError
from lab.sessions.engines.port import Engine
from lab.sessions.session_log import SessionLog
from schemas.session import JobTraining


@asynccontextmanager
async def ray_noted(
    log: SessionLog, engine: Engine, trainings: Callable[[], Sequence[JobTraining]]
) -> AsyncIterator[None]:
    """Note an open Ray engine around what runs on it; of other engines nothing is said.

    Args:
        log: the session's.
        engine: has been opened.
        trainings: asked at the end what was trained.
    """
    if engine.name != "ray":
        yield
        return
    from lab.sessions.engines.ray_tasks import RayEngine  # noqa: PLC0415 - an extra

    assert isinstance(engine, RayEngine)
    nodes, cpus = engine.size
    await log.note_ray(status="running", nodes=nodes, cpus=cpus)
    status, why = "failed", ""
    try:
        yield
        status = "complete"
    except ForesailError as error:
        why = str(error)
        raise
    finally:
        trained = trainings()
        best = max(trained, key=lambda one: one.reward_mean, default=None)
        await log.note_ray(
            status=status,
            nodes=nodes,
            cpus=cpus,
            train_iters=sum(one.train_iters for one in trained),
            reward_mean=None if best is None else best.reward_mean,
            checkpoint="" if best is None else best.checkpoint,
            why=why,
        )
