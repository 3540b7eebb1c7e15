"""Autoscalers of experiments that look ahead: one that knows the future, one that forecasts as Crane does."""
