"""The blocks of a conversation on the screen: messages, tool calls, notices. Each block draws itself."""
