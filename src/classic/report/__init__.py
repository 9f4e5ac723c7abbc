"""A store as one HTML page."""
