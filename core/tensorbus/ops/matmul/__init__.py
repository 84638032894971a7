"""Products of matrices and vectors, and the triangles of matrices."""
