"""`foresail session ACTION`: many jobs planned from one file, run anywhere, and ranked; none of them is lost.

`plan` writes the jobs, `run` runs them on this machine, on Kubernetes or on Ray, `status` shows how far they are,
`resume` goes on where a runner ended, however it ended, `cancel` stops everything, `aggregate` ranks the results.
"""

from __future__ import annotations

from bus.exit_codes import ExitCode
from foresail.actions import Actions
from foresail.verbs import Verb

VERB = Verb(
    187, "plan a session of many jobs, run it anywhere, resume it, and rank what came of it"
)

EXIT_CODES = {
    ExitCode.DIFFERS: "`run`, `resume`: not every job succeeded; `status`: one did not; `pipeline`: "
    "half of them did not, with `--strict-health` one",
    ExitCode.BAD_INPUT: "what was given cannot be used; `run`, `resume`: not one job could be",
    ExitCode.ANOTHER_WRITER: "`run`, `resume`: another runner has this session; nothing was done",
    ExitCode.NOTHING_COMPARED: "`aggregate`: no result is left after the filters",
}

ACTIONS = Actions(
    __name__,
    {
        "plan": "write the jobs of a session file: every combination of its grids, or a choice of them",
        "run": "run the jobs of a file; the same command goes on where an earlier one ended",
        "status": "show a session's jobs by state, what failed and why, and the best so far",
        "resume": "go on with a session; no job that has succeeded runs again",
        "cancel": "stop a session: end what runs, begin nothing more",
        "aggregate": "rank the results in a folder, filtered: a table, JSON, and one HTML page",
        "pipeline": "plan, validate, run, judge health, keep a history and send alerts, over a folder of files",
        "job": "do what one job of a session does; engines start this",
    },
)
add_arguments = ACTIONS.add_arguments
main = ACTIONS.main
