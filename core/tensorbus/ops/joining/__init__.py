"""Tensors joined, repeated, brought to one shape."""
