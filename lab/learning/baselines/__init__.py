"""Rules that schedule without having learned: what a learned policy has to beat."""
