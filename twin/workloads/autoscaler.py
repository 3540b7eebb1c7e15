"""An autoscaler of a service in a workload file: `cpu_percent=70 least=2 most=24`."""

from __future__ import annotations

from typing import NamedTuple

MOST_REPLICAS = 100_000
MOST_PERCENT = 1_000


class AutoscalerRow(NamedTuple):
    """A HorizontalPodAutoscaler on CPU, as the team that deploys the service wrote it."""

    cpu_percent: int
    """Mean CPU use wanted, in percent of the request."""
    least: int
    """Replicas."""
    most: int

    def text(self) -> str:
        """Return it as a workload file says it."""
        return " ".join(f"{name}={value}" for name, value in self._asdict().items())


def read_autoscaler(text: str) -> AutoscalerRow:
    """Return the autoscaler that a text describes.

    Raises:
        ValueError: a field is missing, unknown or out of range.
    """
    given = dict(part.partition("=")[::2] for part in text.split())
    if sorted(given) != sorted(AutoscalerRow._fields):
        raise ValueError("write cpu_percent=70 least=2 most=24")
    row = AutoscalerRow(**{name: _whole(name, value) for name, value in given.items()})
    if not row.least <= row.most <= MOST_REPLICAS or row.cpu_percent > MOST_PERCENT:
        raise ValueError(
            f"give cpu_percent up to {MOST_PERCENT}, and most from least to {MOST_REPLICAS}"
        )
    return row


def _whole(name: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal() and 0 < len(value) < 9 and int(value)):
        raise ValueError(f"give {name} as a whole number above 0")
    return int(value)
