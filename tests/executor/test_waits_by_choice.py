"""admission holds who takes room from others, and never who was told to wait."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.outcome import ExecutionPhase
from schemas.reasons import Reason
from tests.builders import make_action
from tests.executor.plant import Plant
from tests.executor.shop import Shop

JOBS = "/apis/batch/v1/namespaces/shop/jobs"


def _job(shop: Shop, name: str, cpu: str = "100m", labels: Any = None, **spec: Any) -> None:
    container = {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container], **spec}}
    body = {"metadata": {"name": name, "labels": labels or {}}, "spec": {"template": template}}
    shop.ask("POST", JOBS, body)


@pytest.mark.parametrize("word", ["queue", "reject", "deprioritize"])
async def test_who_waits_by_choice_is_never_held(word: str) -> None:
    """A Job that fits nowhere is held; those with a selector, a gate, a claim or a queue of Kueue's are left alone."""
    shop = Shop()
    _job(shop, "large", cpu="900")
    _job(shop, "chosen", nodeSelector={"disk": "none"})
    _job(shop, "gated", schedulingGates=[{"name": "example.com/license"}])
    claim = {"persistentVolumeClaim": {"claimName": "absent"}}
    _job(shop, "claims", volumes=[{"name": "v", **claim}])
    _job(shop, "queued", cpu="900", labels={"kueue.x-k8s.io/queue-name": "team"})
    shop.pass_time(30.0)
    plant: Plant = shop.plant
    plant.see(1)
    plant.decide(make_action(kind=ActionKind.ADMISSION, admission=word), 1)
    await plant.act()
    held = {name: shop.ask("GET", f"{JOBS}/{name}")["spec"].get("suspend", False)
            for name in ("large", "chosen", "gated", "claims", "queued")}  # fmt: skip
    assert held == {
        "large": True,
        "chosen": False,
        "gated": False,
        "claims": False,
        "queued": False,
    }


async def test_where_all_wait_by_choice_there_is_nothing_to_hold() -> None:
    """The event says so, and nothing is written."""
    shop = Shop()
    _job(shop, "chosen", nodeSelector={"disk": "none"})
    shop.pass_time(30.0)
    shop.plant.see(1)
    reject = make_action(kind=ActionKind.ADMISSION, admission="reject")
    shop.plant.decide(reject, 1)
    await shop.plant.act()
    (said,) = shop.plant.executions()
    assert (said.phase, said.reason) == (ExecutionPhase.REFUSED, Reason.NO_WORKLOAD)
