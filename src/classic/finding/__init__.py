"""Finding aspects: a small network of its own over the frozen encoder, learned domain after domain."""
