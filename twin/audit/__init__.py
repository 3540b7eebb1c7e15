"""The audit log of the API in the form of Kubernetes: which policy holds for a request, and what is written of it.

Source: kubernetes.io/docs/tasks/debug/debug-cluster/audit and the audit filters of the API server (k8s.io/apiserver
pkg/audit, pkg/endpoints/filters/audit.go, at 1.36).
"""
