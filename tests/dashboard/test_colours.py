"""The page's colours stay apart for people who see fewer of them, or have a second sign beside them.

The three kinds are simulated by the matrices of Machado, Oliveira and Fernandes (2009, "A Physiologically-based Model
for Simulation of Color Vision Deficiency", severity 1.0, linear RGB); distances are CIE76 in CIELAB, where 2.3 is just
noticeable side by side and ten is plain for marks of a few pixels apart from each other.
"""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pytest

from schemas.agents import agent_manifests
from tests.architecture.source_tree import ROOT

SOURCE = ROOT / "web" / "src" / "app.css"
VISIONS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = TO_XYZ.sum(axis=1)
PLAIN = 10.0
RISK = [f"risk-{step}" for step in range(6)]
CURVES = ["foreseen", "without", "ink"]
"""Lines of one picture; they are dashed differently, too."""


def schemes() -> dict[str, dict[str, str]]:
    """Return the colours of both looks by name."""
    blocks = re.findall(
        r'(:root(?:\[data-theme="dark"\])?) \{(.*?)\}', SOURCE.read_text(), re.DOTALL
    )
    found = {}
    for selector, body in blocks:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", body))
        if "ground" in colours:
            found["dark" if "dark" in selector else "light"] = colours
    return found


def lab(colour: str, vision: str) -> npt.NDArray[np.float64]:
    """Return a colour `#rrggbb` in CIELAB, as it is seen."""
    given = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)
    ratio = TO_XYZ @ np.clip(VISIONS[vision] @ linear, 0, 1) / WHITE
    bent = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * bent[1] - 16, 500 * (bent[0] - bent[1]), 200 * (bent[1] - bent[2])])


def apart(left: str, right: str, vision: str) -> float:
    """Return how far two colours are apart."""
    return float(np.linalg.norm(lab(left, vision) - lab(right, vision)))


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("look", ["light", "dark"])
def test_what_means_something_else_looks_different(look: str, vision: str) -> None:
    """Neighbours on the scale of risk, the curves of one picture, good beside bad, and bad beside a link."""
    colours = schemes()[look]
    pairs = [*pairwise(RISK), *combinations(CURVES, 2), ("good", "bad"), ("accent", "bad")]
    close = [
        f"{left} and {right}: {distance:.1f}"
        for left, right in pairs
        if (distance := apart(colours[left], colours[right], vision)) < PLAIN
    ]

    assert close == []


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("look", ["light", "dark"])
def test_the_scale_of_risk_goes_one_way(look: str, vision: str) -> None:
    """By its lightness alone, so that it is a scale for whoever sees no colour at all."""
    colours = schemes()[look]
    light = [float(lab(colours[name], vision)[0]) for name in RISK]

    assert light == sorted(light, reverse=look == "light")


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("look", ["light", "dark"])
def test_agents_can_be_told_apart(look: str, vision: str) -> None:
    """Marks on the time line have nothing but their colour; elsewhere an agent has its letter."""
    manifests = agent_manifests().values()
    known = {one.name: one.dark_colour if look == "dark" else one.colour for one in manifests}
    known["referee"] = schemes()[look]["referee"]
    close = [
        f"{left} and {right}: {distance:.1f}"
        for left, right in combinations(known, 2)
        if (distance := apart(known[left], known[right], vision)) < PLAIN
    ]

    assert close == []
