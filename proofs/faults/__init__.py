"""Real faults against a real nats-server and separate processes; every verdict is read from the log."""
