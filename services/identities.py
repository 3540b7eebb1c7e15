"""Everybody who connects to a log of ours: the bus' table with the agents that are registered.

    python -m services.identities --cluster NAME --incarnation ID --out FOLDER

writes the accounts for a nats-server and a login for each process; see `bus.nats_conf`.
"""

from __future__ import annotations

import sys

from bus.identities import identity_table
from bus.nats_conf import main
from schemas.agents import agent_names

IDENTITIES = identity_table(agent_names())
BY_NAME = {identity.name: identity for identity in IDENTITIES}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], IDENTITIES))
