"""One write: asked about again, sent with its preconditions, and told on its object."""
