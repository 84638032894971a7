"""The class Tensor without its methods."""
