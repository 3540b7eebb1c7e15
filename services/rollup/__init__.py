"""The roll-up: what each day held, as one event in a log that nothing ages out of.

Reads: what a report counts. Publishes: `rollup.day.<date>` in the log of `days-<cluster>`. Keeps: nothing but these
events, from which it goes on. Touches: nothing else.
"""
