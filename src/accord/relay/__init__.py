"""Agents behind connections: each connection with a process of its own, or one process for each session."""
