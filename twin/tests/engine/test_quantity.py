"""Kubernetes quantities."""

from __future__ import annotations

import pytest

from twin.quantity import cpu_text, memory_text, millicores, whole


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1000),
        ("250m", 250),
        ("1.5", 1500),
        ("0.0001", 1),
        ("2k", 2_000_000),
        ("1500000u", 1500),
        ("1n", 1),
        (2, 2000),
        (".5", 500),
    ],
)
def test_cpu_is_read_in_millicores_rounded_up(text: str, expected: int) -> None:
    """Every suffix is exact, and less than a millicore counts as one."""
    assert millicores(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1Ki", 1024),
        ("1.5Gi", 1_610_612_736),
        ("2M", 2_000_000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("100m", 1),
        ("0", 0),
    ],
)
def test_memory_is_read_in_bytes(text: str, expected: int) -> None:
    """Binary, decimal and exponent forms are told apart."""
    assert whole(text) == expected


@pytest.mark.parametrize("text", ["", "a lot", "1 Gi", "1gi", "--1", "1e"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    """Anything else is a ValueError that shows the text."""
    with pytest.raises(ValueError, match="not a quantity"):
        whole(text)


def test_canonical_texts() -> None:
    """Amounts are written the way the API server writes them."""
    assert [cpu_text(2000), cpu_text(1500)] == ["2", "1500m"]
    assert [memory_text(8 * 2**30), memory_text(1536 * 2**20), memory_text(1001)] == [
        "8Gi",
        "1536Mi",
        "1001",
    ]
