"""Tuning sessions: many jobs planned from one file, run on this machine, on Kubernetes or on Ray, and ranked.

`session_file` and `planner` make jobs, `jobs_file` writes and reads them as JSON lines, `payloads` says what a job
does, `runner` brings each of them to exactly one end on an engine of `engines`, and keeps what happens as events
(`schemas.session`), so that a killed session goes on where it was; `aggregate` ranks the results.
"""
