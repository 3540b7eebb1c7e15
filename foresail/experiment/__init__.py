"""`foresail experiment ACTION`: the same worlds under several arms, compared seed by seed.

`run` plays what has no result yet and can be stopped and resumed at any time, `report` writes what people read,
`gate` answers yes or no by its exit code, `suite` does so for several experiments at once, `list` shows arms,
metrics and how far results are.
"""

from __future__ import annotations

from bus.exit_codes import ExitCode
from foresail.actions import Actions
from foresail.verbs import Verb

VERB = Verb(
    185, "compare arms fairly: the same simulated worlds with and without us, HPA or Karpenter"
)

EXIT_CODES = {
    ExitCode.DIFFERS: "`gate`: the arm harms, no gain is shown, a guard does not hold, or trials are missing; `suite`: "
    "a gate does not pass; `traps`: one is not passed that was not known to fail; `aiopslab`: an action differs "
    "from what is expected, or `--preflight` lacks something; "
    "`worlds`: acting made one worse by more than 2 %; `calibrate`: of a kind, other than 80 to 125 % of what was "
    "expected came; `reward-audit`: the reward does not "
    "follow the score",
    ExitCode.NOTHING_COMPARED: "`report`: no trial has a result; `reward-audit`: no decision has both; "
    "`live`: no stimulus was on in both clusters",
    ExitCode.CUT_OFF: "`run`, `worlds`, `calibrate`: some are missing, since the time limit was reached; the same "
    "command goes on; `reward-audit`: the recording ends too early",
}

ACTIONS = Actions(
    __name__,
    {
        "run": "play every trial that has no result yet, over all cores; the same command resumes",
        "report": "write what the results say, as a page and as Markdown: what helps, harms, costs, and lacks",
        "gate": "say by its exit code whether the arm under test may be taken into use: 0 yes, 1 no",
        "suite": "ask the gates of several experiments that a file names: one table, one exit code",
        "reward-audit": "say of a recording whether the baseline's reward followed the outcome score",
        "live": "give two real clusters the same load at the same moment, and compare what each makes of it",
        "baseline-cluster": "set up, surge, reset or remove the predecessors' workload and autoscaler on real clusters",
        "traps": "play scripted situations that tempt a controller, and check what it must and must not do",
        "aiopslab": "play the faults of AIOpsLab's problems that the twin can play, and score the answers by its rules",
        "worlds": "play random small worlds beside the same worlds untouched, and show which acting made worse",
        "calibrate": "play worlds with and without single actions, and hold what came against what was expected",
        "list": "show arms, metrics, or how far the results of an experiment are",
    },
)
add_arguments = ACTIONS.add_arguments
main = ACTIONS.main
