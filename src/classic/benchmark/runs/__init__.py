"""Runs: what they are, how they are carried out, where their results lie."""
