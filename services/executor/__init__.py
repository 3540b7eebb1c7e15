"""The executor: makes the referee's decisions real, within guard rails, and checks that they held.

Reads: decision, observation, control, stimulus, its own outcomes. Publishes: outcome.execution (started,
finished or refused), outcome.verification. Keeps: decisions that wait, executions of the last
hours, the operator's switches (checkpointed). Touches: the Kubernetes API, with write verbs; nobody
else does, but the exerciser in its own namespace.

One step at a time (`service.py`): the ledger says what is due, and one effect of it is carried out.

- `ledger/`: what is known by the log alone, and how each event changes it; pure.
- `reading/`: asks the API server: facts for a plan, the reach of an operation, what may be done.
- `plans/`: one file per kind of action, from facts to operations with absolute ends; pure.
- `guards/`: one file per guard rail; asked about the decision, its plan, and again before each write; pure.
- `execution/`: a decision carried out: read, plan within the guards, store `started`, write, store `finished`.
- `writing/`: one operation sent with its preconditions, and told on its object.
- `verification/`: whether the end that was wanted is there later on, and whether anything got worse.
- `undo/`: why an execution is taken back, and the writes that do it.

Beside them lie what the folders share: `facts.py` (what plans look at), `reach.py` (what guards look at: where may
be written, and what a write touches), `ends.py` (whether an object is as an operation wants it), and `settings.py`.
"""
