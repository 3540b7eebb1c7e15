"""A day of a cluster as one picture: what is sampled, where each line goes, and how a terminal shows it."""
