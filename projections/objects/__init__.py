"""One object of the cluster, by kind and name: what the log says about it and why it is as it is."""
