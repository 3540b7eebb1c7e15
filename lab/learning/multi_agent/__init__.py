"""The three agents trained together by RLlib's PPO: a policy each or one for all, stage by stage."""
