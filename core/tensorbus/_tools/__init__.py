"""Programs for those who work on the library."""
