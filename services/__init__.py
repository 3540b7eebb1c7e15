"""The small processes: each folder is one process and imports no other folder.

Three modules beside the folders are shared by those that touch the cluster: `cluster` (how to reach
it, the one file that knows the official Kubernetes client), `quantities` (how it writes amounts)
and `kube_objects` (the few fields of its objects we read).
"""
