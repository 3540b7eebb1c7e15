"""Reading the cluster: what plans look at, what an operation would touch, what may be done there."""
