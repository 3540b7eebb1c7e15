"""Safety net: a fixed set of short runs, of which every layer is compared with a committed digest.

Whoever moves code plays it before and after, `python -m proofs.safety_net`: what differs is a decision that was changed
(or an event that was). What is compared is what `foresail verify` compares: id, type, subject, causes and data
bytes, in the log's order; no time stamp and no settings hash. Left out beside these, because they may change
without any change of behaviour: `code_version`, `config_hash` and the id of `config` events, and `checkpoint`
events, which hold a service's inner state. What a trained model computes may differ in its last digits on another
CPU: compare there with digests of the older code from the same machine (`--write`, `--digests FILE`).

That recordings made before still verify is held elsewhere: `tests/golden/test_golden_recordings.py` and
`tests/schemas/test_new_field.py` (every version of the schemas), `tests/rerun/test_verify.py` (each layer).
"""
