"""Why other controllers did what they did, or did not: recomputed from the objects of a cluster."""
