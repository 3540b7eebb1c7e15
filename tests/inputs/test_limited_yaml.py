"""YAML within limits: what is read is read as before, and what is refused is refused before it grows."""

from __future__ import annotations

import re
import tracemalloc

import pytest
import yaml

from inputs.limited_yaml import MOST_NODES, BadYaml, YamlLimits, load_yaml


def nested_aliases(levels: int, each: int = 9) -> str:
    """Return a text in which every line stands for `each` times the line before."""
    lines = [f"a0: &a0 [{', '.join(['x'] * each)}]"]
    lines += [
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * each)}]"
        for level in range(1, levels)
    ]
    return "\n".join(lines)


def merged_aliases(levels: int) -> str:
    """Return a text in which every mapping merges the one before ten times."""
    lines = ["a0: &a0 {" + ", ".join(f"k{number}: 1" for number in range(10)) + "}"]
    lines += [
        f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 10)}]}}"
        for level in range(1, levels)
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: [true, null, 1.5, 'x', \"y\"]\nc: {d: e}\n",
        "base: &base {a: 1, b: 2}\nother:\n  <<: *base\n  b: 3\nlist: [*base, *base]\n",
        "text: |\n  one\n  two\nfolded: >-\n  one\n  two\n",
        "n: 0x1F\no: 017\nf: 1e3\ng: 1.5e+3\ns: !!str 5\nt: ! 5\nbig: 18446744073709551615\n",
        "certificate: " + "LS0tLS1CRUdJTi0" * 200,
        "'12345678901234567890123': quoted keys may be long numbers\n",
        "9" * 18 + ": key\n",
        "",
        "# nothing\n",
        "--- a\n...\n",
    ],
)
def test_plain_documents_read_as_ever(text: str) -> None:
    """Within the limits a document means what PyYAML's safe loader reads in it."""
    assert load_yaml(text) == yaml.safe_load(text)
    assert load_yaml(text.encode()) == yaml.safe_load(text)


def test_a_date_stays_a_text() -> None:
    """What JSON has no type for is not built."""
    assert load_yaml("at: 2026-01-01T00:00:00Z\nday: 2026-01-01\nsign: =") == {
        "at": "2026-01-01T00:00:00Z",
        "day": "2026-01-01",
        "sign": "=",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (nested_aliases(9), "line 6: more than 100000 values"),
        (merged_aliases(9), "line 5: more than 100000 values"),
        ("a: &a [*a]", "line 1: *a stands inside what it stands for"),
        ("a: *b", "line 1: *b stands for nothing"),
        ("[" * 20_000, "line 1: nested deeper than 64"),
        ("{a: " * 20_000, "line 1: nested deeper than 64"),
        ("- " * 20_000, "line 1: nested deeper than 64"),
        ("".join(" " * depth + "a:\n" for depth in range(200)), "line 65: nested deeper than 64"),
        (
            "".join(f"a{n}: &a{n} [{f'*a{n - 1}' if n else ''}]\n" for n in range(70)),
            "line 64: nested deeper than 64",
        ),
        ("a\n" * 500_001, "it has 1000002 bytes; at most 1000000 are read"),
        ("a: " + "9" * 5_000, "line 1: a number has more than 64 characters"),
        ("a: !!int '" + "9" * 5_000 + "'", "line 1: a number has more than 64 characters"),
        ("a: 1" + ":1" * 100_000, "line 1: a number has more than 64 characters"),
        ("a: 0x" + "f" * 100_000, "line 1: a number has more than 64 characters"),
        (f"{2**61 - 1}: a", "line 1: a number has more than 18 characters"),
        ("a: .inf", "line 1: .inf is no finite number"),
        ("a: 1.0e+999", "line 1: 1.0e+999 is no finite number"),
        ("a: !!int ''", "a value is not what its tag says"),
        ("a: !!bool perhaps", "a value is not what its tag says"),
        ("a: !!python/object:os.system x", "names no type that is read here"),
        ("a: !!binary aGk=", "names no type that is read here"),
        (
            "".join(f"%TAG !a{n}! a\n" for n in range(65)) + "--- a",
            "more than 64 lines begin with %",
        ),
        ("a: 1\n---\nb: 2\n", "line 2: a second document begins"),
        ("? [a]\n: b", "line 1: found unhashable key"),
        ("a: [", "did not find expected node content"),
        ("\0", "control characters are not allowed"),
        ('"\ud800"', "it is not UTF-8"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_hostile_documents_are_refused(text: str, why: str) -> None:
    """Every limit and every wrong form is one BadYaml of one line."""
    with pytest.raises(BadYaml, match=re.escape(why)) as refused:
        load_yaml(text)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("text", [b"\xff\xfea\x00", b"\xfe\xff\x00a", b"\x80"])
def test_another_encoding_is_refused(text: bytes) -> None:
    """UTF-8 alone is read, so that no check is passed by in another encoding."""
    with pytest.raises(BadYaml, match="UTF-8"):
        load_yaml(text)


def test_limits_may_be_tighter() -> None:
    """A caller's limits count exactly: at the limit is read, one more is refused."""
    tight = YamlLimits(most_bytes=20, most_nodes=4, deepest=2)

    assert load_yaml("[[1, 2]]", tight) == [[1, 2]]
    for text in ("[[1, 2, 3]]", "[[[]]]", "a" * 21):
        with pytest.raises(BadYaml):
            load_yaml(text, tight)


def test_nested_aliases_take_no_memory() -> None:
    """A text that stands for 9**9 values is refused with the memory of its own few lines."""
    tracemalloc.start()
    try:
        with pytest.raises(BadYaml):
            load_yaml(nested_aliases(9))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_aliases_count_as_what_they_stand_for() -> None:
    """The limit is on what a reader would walk over: nine times 11,110 is too many, eight is not."""
    line = "a: &a [" + "1," * 11_109 + "]\nb: ["

    assert len(load_yaml(line + "*a," * 8 + "]")["b"]) == 8
    with pytest.raises(BadYaml, match=str(MOST_NODES)):
        load_yaml(line + "*a," * 9 + "]")
