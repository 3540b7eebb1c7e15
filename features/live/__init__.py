"""Features of a running cluster: history and windows of use that follow the log, and their checkpoints; what one
replica of a workload bears (`capacity`).
"""
