"""Health as it is in life: what goes wrong by itself, part of it after signs and part of it without.

`weather.py` says how much of it there is now and looks around every ten minutes, `machines.py` fails
nodes, racks and zones, `programs.py` makes pods leak, crash, start slowly and fall silent.
"""
