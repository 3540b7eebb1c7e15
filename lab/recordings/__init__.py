"""What is made of recordings offline: redacted ones, and tables."""
