"""What a stream is for."""

from __future__ import annotations

from typing import Literal

Split = Literal["train", "development", "test"]
SPLITS: tuple[Split, ...] = ("train", "development", "test")
