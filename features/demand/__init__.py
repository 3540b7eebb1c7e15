"""Demand ahead: what one series of rates or use says, at an origin, of the hour to come.

Pure NumPy on one regular grid of any step from seconds to an hour. The same functions serve training, the
backtest and live forecasts, and nothing newer than the origin is read:

- `past` holds a series with means over any window, and the places of origins and targets on its grid;
- `seasonal` has Holt-Winters and the Fourier rule;
- `rules` has the simple rules, with bands from their own past errors;
- `features` has the level-free columns that a trained model reads, and the units its numbers are in;
- `walks` carries the newest origin of many series on to the next, and `together` finds what may be carried;
- `follow` keeps bands calibrated and mixes the model with the rules by what they have lost lately.
"""
