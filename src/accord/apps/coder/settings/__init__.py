"""What the user has set, where it came from, and which projects may set anything."""
