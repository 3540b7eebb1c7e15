"""One case a file: `CASE` with its sentence and an asynchronous function of its scene."""
