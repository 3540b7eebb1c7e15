"""What a job does: a what-if on a recording, an arm of an experiment, or a command of one's own.

Each becomes a list of words that start one process, on whatever engine; none of them ever meets a shell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from bus.errors import InputError
from inputs.close_matches import remedy_for
from lab.experiments.arms import CHANGEABLE
from lab.experiments.spec import SCORE, Split
from lab.rerun.changes import WINDOW_SECONDS, known_settings
from lab.sessions.base_payload import BasePayload
from lab.sessions.field_errors import field_error
from lab.sessions.training_payloads import (
    BOOSTER_NAMES,
    POLICY_NAMES,
    BoosterPayload,
    PolicyPayload,
)
from schemas.model import DataModel
from services.agents.value_settings import ValueSettings
from services.executor.settings import Caps

TABLES: tuple[tuple[str, type[DataModel]], ...] = (
    ("agents.value", ValueSettings),
    ("executor.caps", Caps),
)
"""Settings that are tables, of which a job may name single fields."""
BACKTEST_NAMES = (
    *("data_file", "min_spread_bps", "taker_fee_a_bps", "taker_fee_b_bps", "slippage_bps"),
    *("max_position_usd", "max_open_trades", "initial_balance_usd", "stop_on_drawdown_pct", "tag"),
)
"""Names that the predecessors' back-test takes, whose session files name no payload."""
BACKTEST_ARGV = (
    *("{python}", "-m", "scripts.run_arbitrage_tuning"),
    *("--config", "{config}", "--output-json", "{output_json}"),
)
LONGEST_WORD_BYTES = 128 * 1024 - 1
"""Bytes of one word of a command line that Linux takes."""
_FIELD = re.compile(r"\{(python|job_id|config|output_json|config\.([^{}]+))\}")


class WhatIfPayload(BasePayload):
    """Decisions of a recording, computed again with other settings; the names of a job are settings."""

    kind: Literal["what-if"]
    recording: str
    rules: str | None = None
    """TOML file with the referee's rules in another order."""
    window_seconds: float = Field(default=WINDOW_SECONDS, gt=0)
    """An action undone within so many cluster seconds counts as churn."""
    rank_by: str = "metrics.reward"


class ExperimentPayload(BasePayload):
    """An arm with other settings in the worlds of an experiment; the names of a job are `arm` and settings."""

    kind: Literal["experiment"]
    file: str
    split: Split = "development"
    seeds: int | None = Field(default=None, ge=1)
    """Seeds that are played; unset: those of the experiment."""
    rank_by: str = f"metrics.{SCORE}"


class CommandPayload(BasePayload):
    """A program: each `{...}` in its words is filled in, and each word stays one word."""

    kind: Literal["command"]
    argv: tuple[str, ...] = Field(min_length=1)
    """`{python}`, `{job_id}`, `{config}` (JSON), `{config.NAME}`, `{output_json}`."""
    names: tuple[str, ...] | None = None
    """Names that a job may have; unset: any."""
    rank_by: str = "metrics.score"


AnyPayload = WhatIfPayload | ExperimentPayload | CommandPayload | PolicyPayload | BoosterPayload
Payload = Annotated[AnyPayload, Field(discriminator="kind")]
_READER: TypeAdapter[Any] = TypeAdapter(Payload)
BACKTEST = CommandPayload(
    kind="command",
    argv=BACKTEST_ARGV,
    names=BACKTEST_NAMES,
    rank_by="metrics.realized_pnl_usd",
)
"""What a session file or jobs file without a payload means."""


def read_payload(field: str, value: object) -> AnyPayload:
    """Return a payload from JSON values.

    Raises:
        InputError: it is none.
    """
    try:
        payload: AnyPayload = _READER.validate_python(value)
    except ValidationError as error:
        raise field_error(field, error, skip=1) from error
    return payload


def known_names(
    payload: AnyPayload,
) -> Sequence[str] | None:
    """Return the names that a job of a payload may have; None: any."""
    match payload:
        case WhatIfPayload():
            return tuple(name for name in known_settings() if not name.startswith("executor."))
        case ExperimentPayload():
            changeable = (name for name in known_settings() if name.partition(".")[0] in CHANGEABLE)
            inner = (f"{table}.{field}" for table, kind in TABLES for field in kind.model_fields)
            return tuple(dict.fromkeys(("arm", *changeable, *inner)))
        case PolicyPayload():
            return POLICY_NAMES
        case BoosterPayload():
            return BOOSTER_NAMES
        case CommandPayload(names=names):
            return names


def unknown_name(names: Iterable[str], known: Sequence[str] | None) -> str:
    """Return what is wrong with the first name that is not known, with the nearest one; empty: nothing."""
    if known is None:
        return ""
    unknown = next((name for name in names if name not in known), None)
    return "" if unknown is None else f"{unknown}: {remedy_for(unknown, known)}"


def check_files(payload: AnyPayload) -> None:
    """Refuse a payload whose own file is not there; raises InputError."""
    files = {
        "what-if": ("payload.recording", getattr(payload, "recording", None)),
        "experiment": ("payload.file", getattr(payload, "file", None)),
    }
    field, name = files.get(payload.kind, ("", None))
    if name is not None and not Path(name).is_file():
        raise InputError(field, name, "give a file that exists")


def words_of(
    payload: AnyPayload,
    job_id: str,
    config: Mapping[str, Any],
    output_json: str,
    *,
    python: str,
) -> tuple[str, ...]:
    """Return the command line of a job.

    Raises:
        InputError: a word names something that the job has not, or is too long for an operating system.
    """
    if isinstance(payload, CommandPayload):
        values = {"python": python, "job_id": job_id, "output_json": output_json}
        values["config"] = json.dumps(config, ensure_ascii=False)
        words = tuple(_filled(word, values, config) for word in payload.argv)
    else:
        words = (
            *(python, "-m", "foresail", "session", "job", "--payload", payload.model_dump_json()),
            *("--config", json.dumps(config, ensure_ascii=False), "--output-json", output_json),
        )
    for word in words:
        if len(word.encode()) > LONGEST_WORD_BYTES or "\0" in word:
            raise InputError("config", word[:60], "a command line takes no word as long as that")
    return words


def _filled(word: str, values: Mapping[str, str], config: Mapping[str, Any]) -> str:
    def fill(match: re.Match[str]) -> str:
        if match[2] is None:
            return values[match[1]]
        if match[2] not in config:
            raise InputError("payload.argv", match[0], "the job has no such name")
        value = config[match[2]]
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return _FIELD.sub(fill, word)
