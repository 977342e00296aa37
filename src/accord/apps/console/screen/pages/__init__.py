"""The screens that come over the main one: keys, options, sessions, changed files, the log."""
