"""The built-in coding agent: `accord agent`."""
