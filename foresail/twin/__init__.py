"""`foresail twin ACTION`: the embedded cluster by itself, for people with kubectl.

`up` starts it in the foreground, `show` draws a day of it, `scenario` lets things go wrong in it,
`export` writes a start state, `rates` measured requests, `workloads` lists what it can play, `machines`
what can be rented, `validate` checks files before they are played.
"""

from __future__ import annotations

from foresail.actions import Actions
from foresail.verbs import Verb

VERB = Verb(
    140, "the simulated cluster by itself: start it, draw a day of it, make things fail in it"
)

ACTIONS = Actions(
    __name__,
    {
        "up": "start the simulated cluster alone and print its kubeconfig; Ctrl-C stops it",
        "show": "simulate a day and draw it: demand, capacity, latency, machines, failures",
        "scenario": "check a file of failures and apply it to the running simulated cluster",
        "export": "write the nodes and running pods of a recording or a cluster as a workload file to start from",
        "rates": "write a rate file from a Prometheus or an exported CSV: measured requests, to be played",
        "workloads": "list the workloads that can be played",
        "machines": "list the machine types that can be rented, with price and power",
        "validate": "check workload, rate, machine and scenario files: report every bad row with its line and a remedy",
    },
    suffix="",
)
add_arguments = ACTIONS.add_arguments
main = ACTIONS.main
