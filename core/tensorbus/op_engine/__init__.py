"""How a row becomes a call: promotion, generated functions, in-place forms, overriding classes."""
