"""What may travel: the envelope, the subject grammar, and one frozen model per event type and
version.

Layers, in order: snapshot, observation (collector); prediction (inference); proposal (agents);
decision (referee); outcome (executor, scoreboard). Beside them: reaction (collector), stimulus
(exerciser), control (operator), config and checkpoint (every process), run (the stack itself).
`schemas.registry` holds the list, `schemas/exported/` the generated JSON Schemas and the AsyncAPI
document. Nothing in here knows NATS, clocks, files or threads.
"""
