"""Gymnasium environments of job admission; importing this package registers their ids.

Needs gymnasium, of the extra `learn`. `gymnasium.make("lab.learning.environments:Foresail/KueueAdmission-v1")` also
imports and makes.
"""

from __future__ import annotations

from typing import Any

import gymnasium

KUEUE_ADMISSION = "Foresail/KueueAdmission-v1"
ENTRY_POINTS = {
    KUEUE_ADMISSION: "lab.learning.environments.admission:KueueAdmissionEnv",
}


def register_all() -> None:
    """Register every environment that is not registered yet."""
    for name, entry_point in ENTRY_POINTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point)


def make(name: str = KUEUE_ADMISSION, **settings: Any) -> gymnasium.Env[Any, Any]:
    """Return an environment as Gymnasium makes it; settings go to its class."""
    return gymnasium.make(name, **settings)


register_all()
