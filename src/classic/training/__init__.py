"""Training: the only loop, its optimiser, its checkpoints."""
