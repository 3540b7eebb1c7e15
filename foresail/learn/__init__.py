"""`foresail learn ACTION`: policies that learn to admit jobs, trained offline and judged against simple rules.

`train` learns by a preset and goes on where it was stopped, `search` finds a policy by evolution, `evaluate` plays one,
`benchmark` plays many and says whether learning was worth it, `export` makes one small file that needs no learning
library, `card` shows what a file says of itself. Nothing here touches a cluster.
"""

from __future__ import annotations

from bus.exit_codes import ExitCode
from foresail.actions import Actions
from foresail.verbs import Verb

VERB = Verb(155, "train policies of admission, judge them against simple rules, export them")

EXIT_CODES = {
    ExitCode.DIFFERS: "`gate`: no gain over the best simple rule is shown, something is harmed, or too few streams",
}

ACTIONS = Actions(
    __name__,
    {
        "train": "train a policy; the same command goes on where an earlier one ended",
        "train-agents": "train the three agents together, by RLlib (extra `rllib`), and export a file for each",
        "search": "find a policy by evolution over whole streams, held against a rule, and write its file",
        "evaluate": "play policies on the same episodes, which nothing was chosen by",
        "benchmark": "play policies and simple rules on the same jobs, and say whether learning was worth it",
        "export": "write a trained policy as one small file that agents read without any learning library",
        "gate": "say by its exit code whether a policy's file may act, and write the answer into its card",
        "card": "show what a policy's file says of itself, and whether it may act",
    },
)
add_arguments = ACTIONS.add_arguments
main = ACTIONS.main
