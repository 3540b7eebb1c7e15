"""Thousands of clusters at once, for training: the model of `lab.learning.simulator` in arrays, compiled by numba.

Without numba (extra `learn`) the same code runs as plain Python, a hundred times slower, with the same results.
"""
