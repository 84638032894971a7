"""New tensors: from data, filled, in a row, by the older constructors."""
