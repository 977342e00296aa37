"""`accord run`: one prompt, its updates printed as text, JSON events or raw frames."""
