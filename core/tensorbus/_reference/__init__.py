"""The pages that ``help`` shows: made when they are read, from docstrings and executed examples."""
