"""How long a container's command runs, and how it ends, where the command says it: `sleep 30`,
`sh -c "sleep 5 && exit 1"`.

Only what takes a known time is understood: sleep, exit, true, false, echo and the like, one after
the other, and variables that the container's `env` says, such as a Job's JOB_COMPLETION_INDEX.
Everything else (a program, a loop, a pipe) is unknown; such a container lasts what the settings say.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from twin.records import Object, PodRecord, PodShape

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_OPTIONS = frozenset({"-c", "-ec", "-ce", "-xc", "-exc", "-euc"})
_INSTANT = frozenset({"echo", "printf", "true", ":", "date", "hostname"})
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_TIME = re.compile(r"(\d+\.?\d*|\.\d+)([smhd]?)\Z")
_SPECIAL = re.compile(r"[`$<>*?(){}\[\]]|(?<!&)&(?!&)|(?<!\|)\|(?!\|)")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_KEYED_FIELD = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]\Z")
_MOST_TEXT = 4_096
_MOST_CODE = 255


@dataclass(frozen=True, slots=True)
class CommandBehaviour:
    """What a command does: seconds until it ends (inf: never) and its exit code."""

    seconds: float
    code: int = 0


def course_of(shape: PodShape, pod: PodRecord | None = None) -> CommandBehaviour | None:
    """Return the course of a pod's containers together: until the last ends, with the first code
    that is not 0; None when it is not known of one of them.
    """
    seconds, code = 0.0, 0
    for container in shape.spec["containers"]:
        words = (*(container.get("command") or ()), *(container.get("args") or ()))
        if any("$" in str(word) for word in words):
            words = _with_variables(words, _variables(pod, container))
        course = _course(tuple(map(str, words))) if container.get("command") else None
        if course is None:
            return None
        seconds, code = max(seconds, course.seconds), code or course.code
    return CommandBehaviour(seconds, code)


def _variables(pod: PodRecord | None, container: Object) -> dict[str, str]:
    """Return the variables whose values are in the spec, or in the pod's labels and annotations."""
    found = {}
    for entry in container.get("env") or ():
        path = ((entry.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath", "")
        keyed = _KEYED_FIELD.match(path)
        if keyed is not None and pod is not None:
            found[entry["name"]] = getattr(pod, keyed[1]).get(keyed[2], "")
        elif "valueFrom" not in entry:
            found[entry["name"]] = str(entry.get("value", ""))
    return found


def _with_variables(words: tuple[object, ...], values: dict[str, str]) -> tuple[str, ...]:
    """Return the words with their values; a name that is not known stays, and so does what is quoted."""

    def value(match: re.Match[str]) -> str:
        return values.get(match[1] or match[2], match[0])

    return tuple(w if "'" in w else _VARIABLE.sub(value, w) for w in map(str, words))


@lru_cache(maxsize=1_024)
def _course(words: tuple[str, ...]) -> CommandBehaviour | None:
    if len(" ".join(words)) > _MOST_TEXT:
        return None
    program = words[0].rpartition("/")[2]
    if program not in _SHELLS:
        return _simple(words)
    if len(words) < 3 or words[1] not in _OPTIONS:
        return None
    return _script(words[2], stops="e" in words[1])


def _script(text: str, *, stops: bool) -> CommandBehaviour | None:
    """Follow a script; `stops` at the first command that fails, as after `set -e`."""
    if _SPECIAL.search(text):
        return None
    seconds, last = 0.0, CommandBehaviour(0.0)
    for joint, words in _commands(text):
        if (joint == "&&" and last.code) or (joint == "||" and not last.code):
            continue
        if joint == ";" and last.code and stops:
            break
        found = _simple(words)
        if found is None:
            return None
        seconds, last = seconds + found.seconds, found
        if words[0] == "exit" or math.isinf(seconds):
            break
    return CommandBehaviour(seconds, last.code)


def _commands(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each command's words with what joins it to the one before: `;`, `&&` or `||`.

    A text that cannot be split comes as a command that nobody knows.
    """
    lexer = shlex.shlex(text.replace("\n", ";"), posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    joint, words = ";", list[str]()
    try:
        for token in lexer:
            if token.strip(";&|"):
                words.append(token)
                continue
            if words:
                yield joint, tuple(words)
            joint, words = token[:2] if token[0] in "&|" else ";", []
    except ValueError:  # a quotation without end
        yield ";", ("",)
        return
    if words:
        yield joint, tuple(words)


def _simple(words: tuple[str, ...]) -> CommandBehaviour | None:
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program == "sleep" and rest:
        times = [_seconds(word) for word in rest]
        return (
            None if None in times else CommandBehaviour(math.fsum(time for time in times if time))
        )
    if program == "exit":
        code = rest[0] if rest else "0"
        return (
            CommandBehaviour(0.0, int(code)) if code.isdigit() and int(code) <= _MOST_CODE else None
        )
    if program == "false":
        return CommandBehaviour(0.0, 1)
    return CommandBehaviour(0.0) if program in _INSTANT else None


def _seconds(word: str) -> float | None:
    if word in ("inf", "infinity"):
        return math.inf
    match = _TIME.match(word)
    return None if match is None else float(match[1]) * _UNITS[match[2]]
