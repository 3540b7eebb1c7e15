"""Where the jobs of a session run: one port, and an adapter each for this machine, Kubernetes and Ray."""
