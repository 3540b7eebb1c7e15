"""What the control plane does, one controller a file; each reads the store and writes to it."""
