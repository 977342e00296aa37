"""The programs that are measured: agents and clients of each contender, each run as a process of its own."""
