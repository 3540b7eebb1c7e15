"""The local stack: state folder, processes and their supervision, the live view and the summary."""
