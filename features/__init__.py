"""The feature library: one code for training and for live inference, so that both see the same numbers.

`codes`, `history`, `series` and `workload_history` know numpy and the standard library alone; `live` also knows the
events of `schemas` and turns them into what the others read. Everything here is pure: no bus, no
clock, no environment, no files.

    codes             names as whole numbers
    history           failure features of attempts, from tables of events
    series            demand features of windows of use
    workload_history  fourteen days of requests and use of every workload
    baseline          numbers of the baseline formula
    live              the same history and windows, kept up to date by observations and snapshots
"""
