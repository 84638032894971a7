"""Ops that take many elements to few: sums, order, counts, norms, statistics."""
