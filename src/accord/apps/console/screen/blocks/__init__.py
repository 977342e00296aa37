"""What a conversation is made of on the screen: each block knows its words and draws itself."""
