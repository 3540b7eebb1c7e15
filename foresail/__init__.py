"""The command line, one file per verb, and the composition root of the local stack."""

__version__ = "0.1.0"
