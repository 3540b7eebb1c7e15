"""Read models: what every reader of the log makes of its events.

Pure: events go in, in the order of the log, and state comes out. No bus, no clock, no loop, so the
same events give the same state in the terminal, on the page, in traces, in the laboratory and at any
moment of a recording. Small states (a cycle, the run, the overview) are frozen and each event returns
the next one; those that grow with the log (incidents, totals, audit, spans, an object's history)
are updated in place by `add`.
"""
