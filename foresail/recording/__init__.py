"""`foresail recording ACTION`: the log as a file.

`record` writes it from a stack, `info` says what a file holds, `check` names every damaged place,
`cut` takes out a part that can be re-run, `redact` replaces names, `to-parquet` writes tables, `import` reads the
predecessors' files.
"""

from __future__ import annotations

from foresail.actions import Actions
from foresail.verbs import Verb

VERB = Verb(30, "record the log to a file; check, cut, redact and convert recordings")

ACTIONS = Actions(
    __name__,
    {
        "record": "write a running stack's log to a file: from its beginning, from a point in its past, or from now on",
        "info": "check a recording and show what it holds",
        "check": "list every damaged place of a recording, and what can be used before and after it",
        "cut": "copy part of a recording, with the checkpoints and keyframes that it needs",
        "redact": "replace the names of nodes, pods, namespaces, labels and users irreversibly",
        "to-parquet": "write one Parquet table per kind of event, for pandas, polars or DuckDB",
        "export": "write each cycle as a row of the predecessor system's trace",
        "import": "make a recording of a trace or an event file of the predecessor system",
    },
    suffix="",
)
add_arguments = ACTIONS.add_arguments
main = ACTIONS.main
