"""Systems: a method on a backbone in a scenario; their names, sizes and recipes."""
