"""What machines, kubelets, the scheduler and the metrics pipeline do: one behaviour a file."""
