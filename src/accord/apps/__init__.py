"""The programs made with accord; they never import each other."""
