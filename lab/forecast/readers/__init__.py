"""One reader for each form in which traces are published; each is found by its trace's name."""
