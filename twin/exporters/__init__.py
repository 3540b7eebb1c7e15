"""The cluster as exporters show it to Prometheus: names, labels and units of node-exporter, kube-state-metrics
and cAdvisor, and of instrumented pods. Nothing in the cluster reads what is made here.
"""
