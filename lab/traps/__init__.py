"""Traps: small scripted worlds that tempt a controller, and what it must and must not do in them."""
