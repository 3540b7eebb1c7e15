"""Figures that somebody quoted of an earlier commit, measured again on that commit's own code."""
