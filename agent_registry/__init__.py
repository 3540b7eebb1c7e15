"""What an agent is, and which agents there are.

An agent is a folder `services/agents/<name>/` whose `__init__` holds its `AgentRegistration` as
`AGENT`. Everything that names agents asks here: processes, identities, the referee's order, rewards,
settings, letters and colours. So a new agent is a new folder and no other change (docs/adr/0014).

The package is no service: it reads and publishes nothing. It imports no agent by name and belongs to
no service, so that the referee, the scoreboard and the dashboard need not import the agents' service.
"""
