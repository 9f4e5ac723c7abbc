"""What many reviews say, aspect by aspect: streams in, one page out."""
