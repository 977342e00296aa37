"""The screen of the terminal client: talk to an agent and see what it does. Needs the extra `console`."""
