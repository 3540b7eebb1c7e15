"""From a trained learner to the one file that agents read."""
