"""How events travel: the port, a NATS and a memory adapter under one contract suite, recordings,
clocks, the process runner.
"""
