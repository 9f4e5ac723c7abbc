"""Learning: where data, system and store meet."""
