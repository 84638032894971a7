"""The ops: one file for each family, one row for each op."""
