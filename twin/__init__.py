"""The embedded cluster: a simulated Kubernetes cluster for use without a real one.

Reads: a workload (`twin.workloads`) and API writes. Gives: the objects and metrics that a real
API server would show, in cluster time, the same for the same seed and writes.
Parts: `store` (objects, versions, changes), `engine` (one clock), `behaviour` (what machines and
kubelets do), `controllers` (what the control plane does), `admission` (defaults and validation),
`render` (records to Kubernetes JSON), `api` (the HTTP face).
"""
