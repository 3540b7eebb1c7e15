"""Learned policies: environments, baselines, training and evaluation."""
