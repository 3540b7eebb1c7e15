"""What a real kube-scheduler says of pods that fit nowhere, against what is computed from the objects alone."""
