"""What each verb means by an exit code of `bus.exit_codes`, beyond what all verbs share.

`python -m docs.make_exit_codes` writes `docs/exit-codes.md` from both.
"""

from __future__ import annotations

from collections.abc import Mapping

from bus.exit_codes import ExitCode
from foresail.verbs import verb_module, verbs

DIFFERS, NOTHING, CUT_OFF = ExitCode.DIFFERS, ExitCode.NOTHING_COMPARED, ExitCode.CUT_OFF
SHARED = (
    ExitCode.GOOD,
    ExitCode.BAD_INPUT,
    ExitCode.UNREACHABLE,
    ExitCode.INTERRUPTED,
    ExitCode.BROKEN_PIPE,
)
"""Codes that mean the same wherever they come from."""
READS_ON = "the recording ends too early; what was read of it is shown"
UNLESS_PARTIAL = f"{READS_ON} (0 with `--partial`)"

_LISTED: Mapping[str, Mapping[ExitCode, str]] = {
    "up": {
        DIFFERS: "the stack could not go on, the cluster could not be read at its end, or not everything was taken back"
    },
    "tap": {CUT_OFF: UNLESS_PARTIAL},
    "recording record": {},
    "recording info": {
        DIFFERS: "the log in it has a problem: a cause, a proposal or an event is missing or wrong",
        NOTHING: "it holds no message",
        CUT_OFF: "it is cut off, not sealed or damaged",
    },
    "recording check": {
        DIFFERS: "a place is damaged",
        NOTHING: "it is whole and holds no message",
        CUT_OFF: "it only ends too early: cut off, or never sealed",
    },
    "recording cut": {
        DIFFERS: "the part lacks a checkpoint or a keyframe that it needs",
        CUT_OFF: "the source ends before the window does, or messages are missing in the part",
    },
    "recording redact": {
        DIFFERS: "a name would still stand in the result; nothing was written",
        NOTHING: "it holds no message",
        CUT_OFF: "the source ends too early; what could be read is redacted",
    },
    "recording to-parquet": {
        DIFFERS: "messages are no events of today's schemas, and in no table",
        NOTHING: "no table has a row",
        CUT_OFF: READS_ON,
    },
    "recording export": {NOTHING: "it holds no cycle"},
    "recording import": {NOTHING: "nothing of the file could be carried over"},
    "replay": {CUT_OFF: "the recording ends too early; what could be read is replayed"},
    "explain": {CUT_OFF: UNLESS_PARTIAL},
    "timeline": {NOTHING: "it holds no event that a timeline is made of", CUT_OFF: UNLESS_PARTIAL},
    "status": {
        DIFFERS: "no stack runs, a process is down or complains, or the cluster cannot be read; with `--run`: it failed"
    },
    "trace": {
        DIFFERS: "the receiver did not take every span",
        NOTHING: "there was no span to send",
        CUT_OFF: READS_ON,
    },
    "kill": {},
    "pause": {},
    "resume": {},
    "doctor": {
        DIFFERS: "something is missing or not well",
        NOTHING: "a check could not be made",
    },
    "reset": {},
    "twin up": {},
    "twin scenario": {},
    "twin export": {
        CUT_OFF: "the recording ends too early; its newest readable snapshot is written"
    },
    "twin rates": {},
    "twin workloads": {},
    "twin machines": {},
    "twin show": {},
    "twin validate": {},
    "forecast backtest": {},
    "forecast check-leaks": {
        DIFFERS: "a feature knows what had not happened yet",
        NOTHING: "no row was compared",
    },
    "forecast dataset": {},
    "forecast demand": {},
    "forecast diagnose": {},
    "forecast evaluate": {
        DIFFERS: "with `--check`: a check fails",
        NOTHING: "with `--check`: there is no check",
    },
    "forecast history": {},
    "forecast windows": {},
    "forecast inspect": {},
    "forecast rates": {},
    "forecast train": {},
    "verify": {
        DIFFERS: "an event differs, or is no event of today's schemas",
        NOTHING: "of a layer asked for not one event was compared, or an agent of the recording is not installed "
        "here and its proposals were taken as recorded",
        CUT_OFF: "everything up to the place where the recording ends too early is equal (0 with `--partial`)",
    },
    "what-if": {
        DIFFERS: "an assertion does not hold, or messages are no events of today's schemas",
        NOTHING: "no decision was computed",
        CUT_OFF: "computed up to the place where the recording ends too early",
    },
    "sweep": {
        DIFFERS: "messages are no events of today's schemas",
        NOTHING: "no point was computed, or no decision in any",
        CUT_OFF: "computed up to the place where the recording ends too early",
    },
    "diff": {
        DIFFERS: "a decision differs, a cycle is decided on one side only, or an event is unreadable",
        NOTHING: "no cycle is decided on either side",
        CUT_OFF: "the same up to the place where one of them ends too early",
    },
    "completion": {},
}
"""By verb and action: what its own codes mean. A verb that is not listed says so itself."""


def codes_by_verb() -> dict[str, Mapping[ExitCode, str]]:
    """Return what the codes of each verb and action mean, beyond `SHARED`.

    A verb that is not listed here declares its codes, if it has any, as `EXIT_CODES` in its file.

    Raises:
        InputError: a verb's file declares no verb that can be read.
    """
    listed = {name.partition(" ")[0] for name in _LISTED}
    others = (name for name in verbs() if name not in listed)
    return {**_LISTED, **{name: getattr(verb_module(name), "EXIT_CODES", {}) for name in others}}
