"""Learned policies beside simple rules on the same episodes, and what the report says of them."""
