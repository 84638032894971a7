"""Elements read and written by index, mask and condition."""
