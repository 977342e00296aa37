"""Files and terminals that a client offers to an agent."""
