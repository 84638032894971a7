"""Benchmarks of tensorbus beside PyTorch: ``python -m benchmarks`` runs them all."""
