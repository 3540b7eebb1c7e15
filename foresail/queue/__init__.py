"""`foresail queue ACTION`: Jobs in Kueue's queues: prepare a cluster, collect, watch, export and compare."""

from __future__ import annotations

from bus.exit_codes import ExitCode
from foresail.actions import Actions
from foresail.verbs import Verb

VERB = Verb(189, "prepare a cluster for Kueue's queues, collect what its Jobs do, watch, export")

EXIT_CODES = {
    ExitCode.DIFFERS: "`setup`: an object was refused, or belongs to somebody else; `collect`: a job was refused; "
    "`monitor`: an alert fired; `test`: a step was not seen",
    ExitCode.NOTHING_COMPARED: "`export`: the recording tells of no Job and no look at a cluster",
}

ACTIONS = Actions(
    __name__,
    {
        "setup": "check and prepare a cluster: namespaces, queues, the least rights; a dry run unless told otherwise",
        "collect": "record what the Jobs of a cluster do, and submit a workload of the predecessors' templates",
        "monitor": "look every 30 s, and raise alerts about the queue and about kills for want of memory",
        "inference": "what an exported policy would admit now, and why; it acts only after a passed gate",
        "explain": "what a policy could choose when a Job waited: slots, mask, scores, the runner-up",
        "test": "send one small Job through a prepared cluster's queue, and check every step",
        "benchmark": "who decides best about the same jobs: plain Kubernetes, Kueue, rules; on equal clusters",
        "export": "write a recording as the predecessors' SQLite database or CSV of training data",
    },
)
add_arguments = ACTIONS.add_arguments
main = ACTIONS.main
