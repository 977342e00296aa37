"""The pages that open over the main screen: choices, sessions, keys, changed files, the wire log."""
