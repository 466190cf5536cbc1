"""Learning step by step: Gymnasium environments and Stable-Baselines3."""
