"""A log to fill, and the page over a dozen cycles."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.dashboard.built_cycles import cycles
from tests.dashboard.served_page import FilledLog, ServedPage, served_over


@pytest.fixture
def filled_log() -> FilledLog:
    """Return an empty log with the machine's clock."""
    return FilledLog()


@pytest.fixture
def served_page(filled_log: FilledLog) -> Iterator[ServedPage]:
    """Serve the page over a log of a dozen cycles."""
    filled_log.fill(cycles(12))
    with served_over(filled_log) as page:
        yield page
