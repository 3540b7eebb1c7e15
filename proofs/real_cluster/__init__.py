"""The actions on a real control plane: each kind in shadow and active with its undo, and what may disturb them.

etcd, kube-apiserver with an audit log, kube-controller-manager and kube-scheduler are real; nodes have no machines and
are kept ready by hand. Collector and executor are the product's own, over a log in memory, each with a token of a
service account that has exactly the rights that `foresail rbac` prints. Decisions are the proof's.
"""
