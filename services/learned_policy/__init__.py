"""A learned policy at run time: one small file, read and computed by numpy alone, in integers.

Integers make a re-run equal on every machine: sums of floating-point numbers depend on the order in which a library
adds them, and on the processor.
"""
