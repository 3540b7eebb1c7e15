"""Jobs in queues: reading a cluster's Jobs and Kueue's Workloads, collecting, exporting, watching and comparing."""
