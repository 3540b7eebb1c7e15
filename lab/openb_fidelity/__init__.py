"""How faithfully the twin plays openb: one report with figures and plots.

    python -m lab.openb_fidelity --output DIR

Plays the whole openb trace in its own order, with its departures, on its own 1,523 nodes: once at
its recorded times, and once with the times between arrivals shortened, because as recorded the
cluster is nearly empty. Compares what the twin allocated with what should have been there, and
waits and pods that were never scheduled with the trace's.
"""
