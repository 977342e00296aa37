"""The terminal client: talk to any agent, on a screen, in a pipe or in CI."""
