"""How every process begins and ends: settings from the environment, log lines as JSON, and exit codes.

This is the only place that catches every exception.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from bus.child_process import PARENT_VARIABLE, die_with_parent
from bus.errors import (
    AnotherProcess,
    AnotherWriter,
    ConfigError,
    InputError,
    LogWentBack,
    NotGivenBack,
    Temporary,
)
from bus.exit_codes import ExitCode

AnySettings = TypeVar("AnySettings", bound=BaseModel)


def settings_from(environment: Mapping[str, str], kind: type[AnySettings]) -> AnySettings:
    """Read a process' settings from FORESAIL_SETTINGS (JSON); defaults when it is unset.

    Raises:
        ConfigError: it is no JSON, or a value does not fit.
    """
    text = environment.get("FORESAIL_SETTINGS", "{}")
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "FORESAIL_SETTINGS"
        raise ConfigError(where, first["input"], first["msg"]) from error


def configure_logging() -> None:
    """Write log lines as JSON to stdout: UTC time, level, process and what happened."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(),
        cache_logger_on_first_use=True,
    )


def run_to_end(name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """Run a process' coroutine in an event loop of its own; return the exit code."""
    # What was imported stays to the end: nobody needs to look through it for garbage, not even at exit.
    gc.freeze()
    configure_logging()
    if parent := os.environ.get(PARENT_VARIABLE):
        die_with_parent(int(parent))
    log = structlog.get_logger(name)
    try:
        asyncio.run(run())
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.BAD_INPUT
    except AnotherWriter as error:
        log.error("lost its subject", error=str(error))
        return ExitCode.ANOTHER_WRITER
    except AnotherProcess as error:
        log.error("another one lives", error=str(error))
        return ExitCode.ANOTHER_WRITER
    except (Temporary, LogWentBack, NotGivenBack) as error:
        log.error("stopped", error=str(error))
        return ExitCode.FAILED
    except Exception:
        log.exception("failed")
        return ExitCode.FAILED
    return ExitCode.GOOD
