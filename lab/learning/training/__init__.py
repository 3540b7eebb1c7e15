"""Trains policies by Stable-Baselines3 and sb3-contrib, on any Gymnasium environment, without any cluster."""
