"""The three agents as learners see them: what they see, what they may do, and the world in which they do it."""
