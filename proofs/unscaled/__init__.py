"""What a real HorizontalPodAutoscaler controller decides, against what is computed from the objects that it read."""
