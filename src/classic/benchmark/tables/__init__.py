"""Tables: the result files beside the paper's numbers."""
