"""Experiments: the same worlds under several arms, compared seed by seed.

An experiment is a TOML file (`spec`): workloads, one world, arms, seeds, one primary hypothesis and guards. Every
trial, one arm on one workload with one seed, runs the product's own code on virtual time (`foresail` gives the
function that does it) and its result is a file (`results`); `run` spreads trials over processes and resumes.
`statistics` compares paired results, `gate` answers yes or no, `report` writes what people read.
"""
