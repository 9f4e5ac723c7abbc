"""Figures: the result files as pictures, for papers and for the browser."""
