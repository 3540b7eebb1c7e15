"""Traces of clusters, each read by one module, for workloads and forecasting alike.

`registry` lists them. Files are only read, from the folder that is given, and never copied.
"""
