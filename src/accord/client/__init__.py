"""Talk to an agent: what a client answers when the agent asks for files, terminals and permissions."""
