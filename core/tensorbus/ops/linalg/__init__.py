"""Linear algebra: factorizations, what is solved with them, and determinants."""
