"""Everybody who connects to a log of ours: the bus' table with the agents that are registered.

    python -m services.identities --cluster NAME --incarnation ID --out FOLDER

writes the accounts for a nats-server and a login for each process; see `bus.nats_conf`.
"""

from __future__ import annotations

import sys

from agent_registry.discovery import agent_names
from bus.identities import identity_table, keeps_state
from bus.nats_conf import main

IDENTITIES = identity_table(agent_names())
BY_NAME = {identity.name: identity for identity in IDENTITIES}
STATEFUL = sorted(identity.name for identity in IDENTITIES if keeps_state(identity.name))
"""Processes that store checkpoints."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], IDENTITIES))
