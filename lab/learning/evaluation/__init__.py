"""Plays policies in environments and says what came of them, with intervals over seeds."""
