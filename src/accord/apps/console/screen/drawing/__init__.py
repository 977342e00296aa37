"""Session words as lines of styled text. Nothing here knows a widget."""
