"""What an API server makes for itself at its start, as objects that clients look for.

Only where `AccessConfig.server_objects` says so: a twin that is served has them, a cluster of an experiment does not
pay for them.
"""
