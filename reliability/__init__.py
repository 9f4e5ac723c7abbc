"""Long tests of what is promised: `python -m reliability nightly`. Not part of the package."""
