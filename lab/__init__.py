"""What runs offline: traces to models and files. Services and the twin never import it."""
