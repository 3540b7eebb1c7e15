"""Streams of jobs: SKRueue's templates and strategies, a synthetic standard, archives and traces."""
