"""YAML from others, read within limits: the events of the text are counted before anything is built.

An alias counts as all that it stands for, so a few hundred bytes of nested aliases are refused at the
point where they would grow too large, not after. Only what JSON can hold is read: texts, finite
numbers, booleans, nulls, lists and mappings. A date stays a text, and a tag that names any other
type is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import yaml

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML built without libyaml: the same answers, about fifty times slower
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

MOST_BYTES: Final = 1_000_000
"""Bytes of one text."""
MOST_NODES: Final = 100_000
"""Texts, numbers, lists and mappings in one text, aliases counted as what they stand for."""
DEEPEST: Final = 64
"""Lists and mappings inside one another; a Kubernetes object has about twenty."""
LONGEST_NUMBER: Final = 64
"""Characters of a number: building one of many digits takes the square of their count."""
LONGEST_NUMERIC_KEY: Final = 18
"""Characters of a number that is a key; longer ones can be chosen to fall into one hash bucket."""
MOST_DIRECTIVES: Final = 64
"""Lines that begin with %: the parser compares each %TAG with all before it."""
_DIRECTIVE: Final = re.compile("(?:^|[\\n\\r\\x85\\u2028\\u2029\\ufeff])%")
_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "map", "null", "seq", "str")
)
_NOT_IN_JSON: Final = (":timestamp", ":value")
_NUMERIC = re.compile(r"[-+.0-9][-+.0-9A-Fa-fox_:]*")
_NUMBER_TAGS = frozenset({"tag:yaml.org,2002:float", "tag:yaml.org,2002:int"})


@dataclass(frozen=True, slots=True)
class YamlLimits:
    """Limits of one text."""

    most_bytes: int = MOST_BYTES
    """Bytes; of a text that is given as `str`, bytes of its UTF-8."""
    most_nodes: int = MOST_NODES
    """Nodes, aliases counted as what they stand for."""
    deepest: int = DEEPEST
    """Lists and mappings inside one another."""


FILE_LIMITS: Final = YamlLimits()
"""For files that people write: scenarios and kubeconfigs."""


class BadYaml(ValueError):
    """A text is no YAML, or is beyond the limits; one sentence, with the line where it is known."""

    def __init__(self, why: str, line: int | None = None) -> None:
        """Say why; `line` counts from one."""
        super().__init__(why if line is None else f"line {line}: {why}")
        self.why = why
        self.line = line


def load_yaml(text: str | bytes, limits: YamlLimits = FILE_LIMITS) -> Any:
    """Read the one document of a text; an empty text is None.

    Raises:
        BadYaml: it is no YAML, holds what JSON cannot hold, or is beyond the limits.
    """
    with _one_error(text):
        size = len(text.encode()) if isinstance(text, str) else len(text)
        if size > limits.most_bytes:
            raise BadYaml(f"it has {size} bytes; at most {limits.most_bytes} are read")
        plain = text if isinstance(text, str) else text.decode()
        _check_limits(plain, limits)
        return yaml.load(plain, Loader=_JsonTypes)  # noqa: S506 - a safe loader with fewer types


def find_line(text: str | bytes, place: Sequence[int | str]) -> int | None:
    """Return the line, from one, on which a place of a text that `load_yaml` has read stands: the nearest
    thing around it when it is not there itself, None for an empty text.
    """
    node = yaml.compose(text, Loader=_JsonTypes)
    line = None if node is None else node.start_mark.line + 1
    for part in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            found = [pair for pair in node.value if pair[0].value == part]
            if not found:
                break
            line, node = found[-1][0].start_mark.line + 1, found[-1][1]
        else:
            break
    return line


@contextmanager
def _one_error(text: str | bytes) -> Iterator[None]:
    """Turn what the parser raises for wrong input into BadYaml."""
    try:
        yield
    except BadYaml:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = error.problem or error.context or "unreadable"
        lines = text.count("\n" if isinstance(text, str) else b"\n") + 1  # type: ignore[arg-type]
        # The parser's place of what is missing at the end is the line behind the last.
        raise BadYaml(why, None if mark is None else min(mark.line + 1, lines)) from error
    except yaml.YAMLError as error:
        raise BadYaml(" ".join(str(error).split())) from error
    except UnicodeError as error:
        raise BadYaml("it is not UTF-8") from error
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        # The parser checks the form of a number or a truth value that is marked by a tag by failing.
        raise BadYaml(f"a value is not what its tag says ({error})") from error


@dataclass(slots=True)
class _OpenCollection:
    """A list or mapping whose end has not come yet."""

    anchor: str | None
    mapping: bool
    nodes: int = 1
    height: int = 1
    children: int = 0


@dataclass(slots=True)
class _EventCounter:
    """Counts nodes and depth while the events of a text go by."""

    limits: YamlLimits
    open: list[_OpenCollection] = field(default_factory=list)
    anchors: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    """Nodes and height of what an anchor names; None while it is still open."""
    nodes: int = 0
    documents: int = 0

    def count_event(self, event: yaml.Event) -> None:
        """Count one event; raises BadYaml where a limit is passed."""
        if isinstance(event, yaml.ScalarEvent):
            self._check_scalar(event)
            self._add(event, 1, 0)
            if event.anchor is not None:
                self.anchors[event.anchor] = (1, 0)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise BadYaml("a second document begins; one is read", _line_number(event))

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        _check_tag(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self._count(1, event)
        self.open.append(_OpenCollection(event.anchor, isinstance(event, yaml.MappingStartEvent)))
        self._check_depth(0, event)

    def _end(self) -> None:
        done = self.open.pop()
        if done.anchor is not None:
            self.anchors[done.anchor] = (done.nodes, done.height)
        if self.open:
            self._into_parent(done.nodes, done.height)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self.anchors:
            raise BadYaml(f"*{event.anchor:.40} stands for nothing", _line_number(event))
        known = self.anchors[event.anchor]
        if known is None:
            raise BadYaml(
                f"*{event.anchor:.40} stands inside what it stands for", _line_number(event)
            )
        self._check_depth(known[1], event)
        self._add(event, *known)

    def _add(self, event: yaml.Event, nodes: int, height: int) -> None:
        self._count(nodes, event)
        if self.open:
            self._into_parent(nodes, height)

    def _into_parent(self, nodes: int, height: int) -> None:
        parent = self.open[-1]
        parent.nodes += nodes
        parent.height = max(parent.height, height + 1)
        parent.children += 1

    def _count(self, nodes: int, event: yaml.Event) -> None:
        self.nodes += nodes
        if self.nodes > self.limits.most_nodes:
            why = (
                f"more than {self.limits.most_nodes} values, aliases counted as what they stand for"
            )
            raise BadYaml(why, _line_number(event))

    def _check_depth(self, height: int, event: yaml.Event) -> None:
        if len(self.open) + height > self.limits.deepest:
            raise BadYaml(f"nested deeper than {self.limits.deepest}", _line_number(event))

    def _check_scalar(self, event: yaml.ScalarEvent) -> None:
        _check_tag(event)
        if not event.implicit[0] and event.tag not in _NUMBER_TAGS:
            return  # quoted, so a text
        longest = LONGEST_NUMBER
        if self.open and self.open[-1].mapping and self.open[-1].children % 2 == 0:
            longest = LONGEST_NUMERIC_KEY
        if len(event.value) > longest and _NUMERIC.fullmatch(event.value):
            raise BadYaml(f"a number has more than {longest} characters", _line_number(event))


def _check_limits(text: str, limits: YamlLimits) -> None:
    """Raise BadYaml where a text passes a limit; reads no further than there."""
    directives = sum(1 for _ in islice(_DIRECTIVE.finditer(text), MOST_DIRECTIVES + 1))
    if directives > MOST_DIRECTIVES:
        raise BadYaml(f"more than {MOST_DIRECTIVES} lines begin with %")
    counter = _EventCounter(limits)
    for event in yaml.parse(text, Loader=_Loader):
        counter.count_event(event)


def _check_tag(event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
    tag = event.tag
    if tag not in (None, "!") and tag not in _TAGS:
        raise BadYaml(f"the tag {tag:.80} names no type that is read here", _line_number(event))


def _line_number(event: yaml.Event) -> int | None:
    return None if event.start_mark is None else int(event.start_mark.line) + 1


class _JsonTypes(_Loader):
    """Builds texts, finite numbers, booleans, nulls, lists and mappings."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(_NOT_IN_JSON)]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def finite(self, node: yaml.ScalarNode) -> float:
        """Build a number with decimals; raises BadYaml for infinity and for what is no number."""
        value: float = self.construct_yaml_float(node)
        if not math.isfinite(value):
            raise BadYaml(f"{node.value:.40} is no finite number", node.start_mark.line + 1)
        return value


_JsonTypes.add_constructor("tag:yaml.org,2002:float", _JsonTypes.finite)
