"""The machine we run on: files below allowed directories, processes, git, saved choices, text in a terminal."""
