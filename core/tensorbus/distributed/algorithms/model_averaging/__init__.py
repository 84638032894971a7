"""Models of which each rank trains its own copy, and which are averaged now and then."""
