"""What a process is given from outside, for Foresail and the twin alike: time, texts and files of others within
limits, a parent; and the error that names what is wrong with one.

It ships with the twin (`twin/pyproject.toml`), since Foresail needs the twin and the twin nobody. It imports
nothing of ours.
"""
