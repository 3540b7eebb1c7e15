"""A table of objects with one field changed, and what kube-apiserver 1.36 answers to each.

`field_rows.txt` has an object's path and content after `@`, then a row for each change: fields with their values (`-`:
left out), the status, and of a refusal the fields that it names, with the reason of each.
`"{}"` stands for a namespace of its own.

`python -m twin.tests.contract.field_rows` asks a real server again and writes the answers anew.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twin.tests.contract.faces import Face, OverHttp

FILE = Path(__file__).with_name("field_rows.txt")
_PART = re.compile(r"[^.\[\]]+|\[\d+\]")
_DRY = {"dryRun": "All"}


@dataclass(frozen=True, slots=True)
class Row:
    """One change and its answer."""

    changes: str
    answer: str


@dataclass(frozen=True, slots=True)
class Table:
    """Changes of one object."""

    path: str
    base: str
    rows: tuple[Row, ...]

    @property
    def label(self) -> str:
        """The resource and its version, for the names of tests."""
        return "/".join(
            part for part in self.path.split("/") if part not in ("", "namespaces", "{}")
        )


def tables() -> list[Table]:
    """Read the file."""
    found: list[tuple[str, str, list[Row]]] = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("@ "):
            path, base = line[2:].split(" ", 1)
            found.append((path, base, []))
        elif line:
            changes, _, answer = line.partition(" => ")
            found[-1][2].append(Row(changes, answer))
    return [Table(path, base, tuple(rows)) for path, base, rows in found]


def answers(face: Face, namespace: str, table: Table) -> Iterator[tuple[str, str]]:
    """Ask for the creation of each changed object, for nothing but the answer; yield changes and answers."""
    for row in table.rows:
        body = json.loads(table.base.replace('"{}"', f'"{namespace}"'))
        for change in row.changes.split(" ; "):
            path, _, value = change.partition(" = ")
            body = _changed(body, path.removesuffix(" -"), value)
        found = face.ask("POST", table.path.replace("{}", namespace), query=_DRY, body=body)
        yield row.changes, words_of(found)


def _changed(body: Any, path: str, value: str) -> Any:
    """Set a field, or take it away where there is no value."""
    place, parts = body, _PART.findall(path)
    for part in parts[:-1]:
        place = place[int(part[1:-1])] if part.startswith("[") else place.setdefault(part, {})
    last = parts[-1]
    if not value:
        place.pop(last, None)
    elif last.startswith("[") and int(last[1:-1]) == len(place):
        place.append(json.loads(value))
    else:
        place[int(last[1:-1]) if last.startswith("[") else last] = json.loads(value)
    return body


def words_of(found: Any) -> str:
    """Write an answer as the file does: the status, and what a refusal names."""
    if found.status < 300 or found.body is None:
        return str(found.status)
    causes = (found.body.get("details") or {}).get("causes") or ()
    named = sorted({f"{cause.get('field', '')} {cause.get('reason', '')}" for cause in causes})
    return " ".join([str(found.status), found.body.get("reason", ""), *named]).strip()


def main() -> int:
    """Ask a real API server and write the file again."""
    from tests.real_api_server import real_server_in

    namespace, lines = "recorded", []
    with TemporaryDirectory() as folder, real_server_in(Path(folder)) as server:
        face = OverHttp(server.kubeconfig, "real", simulated=False)
        made = face.ask("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}})
        assert made.status == 201, made.text
        for table in tables():
            lines.append(f"@ {table.path} {table.base}")
            lines += [
                f"{changes} => {answer}" for changes, answer in answers(face, namespace, table)
            ]
        face.close()
    FILE.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
