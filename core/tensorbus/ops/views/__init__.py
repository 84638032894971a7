"""Views: other shapes and orders of the same memory."""
