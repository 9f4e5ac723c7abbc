"""Methods: one continual-learning idea a file."""
