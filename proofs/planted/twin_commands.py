"""Defects in pods whose containers are processes."""

from __future__ import annotations

from proofs.planted.defect import Defect

_PROCESS = "twin/tests/local_pods/test_container_process.py::"
TWIN_COMMANDS = (
    Defect(
        "any program of the machine may run",
        "twin/local_pods/process.py",
        "if path.parent != folder or not path.is_file()",
        "if not path.is_file()",
        "twin/tests/local_pods/test_processes.py::test_there_is_no_shell",
    ),
    Defect(
        "a child with a process group of its own is left behind",
        "twin/local_pods/limits.py",
        "            if os.getsid(process.pid) == session:\n",
        "            if os.getpgid(process.pid) == session:\n",
        f"{_PROCESS}test_what_a_process_leaves_behind_ends_with_it",
    ),
    Defect(
        "the end of a process is not in the journal",
        "twin/local_commands.py",
        "        api.handle_and_journal(request, ADMIN)",
        "        api.router.handle(request, ADMIN)",
        "twin/tests/local_pods/test_restarts.py::test_the_journal_alone_gives_the_same_state",
    ),
)
