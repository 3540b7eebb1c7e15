"""Guard rails: what must hold before a decision is executed. One file each, and no other file knows it.

A file holds pure checks, `check(question) -> GuardCheck`, and declares them as `GUARDS`: name, stage and
place (`services.executor.guard_discovery`). All guards of a stage are asked for every decision that
comes so far, so that the log shows every number against its limit; the first that fails gives the
reason of the refusal.
"""
