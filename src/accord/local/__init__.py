"""The machine we run on, for both sides of a connection: files inside some directories, how a command ended."""
