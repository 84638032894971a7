"""What is done with the few minutes of a GPU: ``scripts/gpu``."""
