"""What pages of results share: one look, one file each, nothing loaded from elsewhere, readable without
scripts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from bus.errors import InputError
from projections.figures import number, signed_text

STYLE = """
:root{--ink:#1d2730;--paper:#fff;--line:#d8dfe5;--soft:#5b6874;--changed:#b26a00;--appeared:#1b6b3a;
--vanished:#a4161a;--front:#0b5cad;--note:#fff4d6}
body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:var(--ink);
background:var(--paper)}h1{overflow-wrap:anywhere}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .8rem;border-bottom:1px solid var(--line);
text-align:left;vertical-align:top}.n{text-align:right;font-variant-numeric:tabular-nums}
.loop{background:var(--note);padding:.6rem .9rem;border-radius:.3rem}.bad{color:var(--vanished)}
.good{color:var(--appeared)}.wide{overflow-x:auto}tr.front td{font-weight:600}small{color:var(--soft)}
svg{width:100%;height:auto;font:12px system-ui,sans-serif;fill:var(--ink)}svg .rule{stroke:var(--line)}
svg .soft{fill:var(--soft)}figure{margin:1rem 0}figcaption{color:var(--soft)}
@media(prefers-color-scheme:dark){:root{--ink:#dde5ec;--paper:#12181d;--line:#334049;--soft:#9aa8b4;
--changed:#f0a93b;--appeared:#57c785;--vanished:#ff7b7e;--front:#6fb1f5;--note:#4a3b10}}
"""


def page_text(title: str, parts: Iterable[str], result: Any) -> str:
    """Return a page: its parts are HTML, `result` stands in it as JSON for scripts."""
    content = json.dumps(result, ensure_ascii=True, default=str).replace("<", "\\u003c")
    head = (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style><h1>{escape(title)}</h1>"
    )
    data = f'<script type="application/json" id="result">{content}</script></html>'
    return "\n".join([head, *(part for part in parts if part), data]) + "\n"


def write_page(path: Path, text: str) -> None:
    """Write a page, whole or not at all; an older one of that name is replaced.

    Raises:
        InputError: the file cannot be written.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise InputError(
            "--html", path, f"name a file that can be written ({error.strerror})"
        ) from error


def figures_table(names: tuple[str, str], rows: Iterable[tuple[str, float, float]]) -> str:
    """Return the figures of two sides with their differences."""
    body = "".join(
        f"<tr><td>{escape(name)}<td class=n>{number(before)}<td class=n>{number(after)}"
        f"<td class=n>{signed_text(after - before)}"
        for name, before, after in rows
    )
    heads = "".join(f"<th class=n>{escape(name)}" for name in (*names, "difference"))
    return f"<table><tr><th>figure{heads}{body}</table>"
