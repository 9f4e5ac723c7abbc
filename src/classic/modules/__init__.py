"""Building blocks that backbones and methods are made of."""
