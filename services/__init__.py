"""The small processes: each folder is one process and imports no other folder.

Modules beside the folders are shared by those that touch the cluster, among them `cluster` (how to reach
it; the one file that knows the official Kubernetes client), `quantities` (how it writes amounts),
`kube_objects` (the few fields of its objects that we read), `pod_requests` (what a pod holds of a node)
and `kube_lists` (lists, page by page).
"""
