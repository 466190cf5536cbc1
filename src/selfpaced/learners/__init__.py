"""Learners: ask for a batch of rollouts, be told what it scored. One algorithm a file."""
