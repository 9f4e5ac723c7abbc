"""What a store keeps, whether a text is in it, and how much its weights tell."""
