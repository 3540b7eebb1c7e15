"""Demand: how much will be used at most within the next minutes or hours, and what it is worth.

series.py      what a series and a family of series are
pack.py        the families of the trace pack, read and repaired
origins.py     origins of a family as rows: features, rules' limits, peaks
quantile.py    quantile regression with XGBoost on those rows
tracked.py     online calibration over the rows of a family in the order in which peaks ripen
scores.py      violation, savings, pinball loss, bootstrap over series
table.py       every method on every family
report.py      that as markdown and JSON
"""
