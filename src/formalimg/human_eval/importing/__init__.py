"""Import of external answers and ratings as runs and studies without images."""
