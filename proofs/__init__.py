"""Proofs of the foundation: harnesses that break things on purpose and then read the log.

Each part is a package with `prove(scale) -> Iterator[Row]`. The test suite calls the same code with
small counts, `make prove` with large ones.
"""
