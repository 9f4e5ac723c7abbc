"""Prediction with torch: the model of a version, folded, over texts and over files."""
