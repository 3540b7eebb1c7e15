"""Episodes of one policy, and statistics over training seeds; knows no learner."""
