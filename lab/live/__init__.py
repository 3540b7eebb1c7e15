"""Two real clusters beside each other: the same stimuli at the same moment, and what each made of them.

`loads` says what both get, `stage` applies and watches, `history` reads the two logs, `windows` and
`scorecards` say what differs, `markdown` writes it.
"""
