"""Learned policies of job admission: workloads, simulators, environments, the rules they are judged against, training.

Nothing here needs the extra `learn` but `environments` (gymnasium, pettingzoo), what is compiled in `fast` (numba) and
what trains, which imports its libraries when it is called (`libraries.library`).
"""
