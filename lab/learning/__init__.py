"""Learned policies of job admission: workloads, simulators, environments and the rules they are judged against.

Nothing here needs the extra `learn` but `environments` (gymnasium, pettingzoo) and what is compiled in `fast` (numba).
"""
