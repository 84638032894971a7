"""What a tensor says of itself, and how it leaves: attributes, copies, gradients, text."""
