"""Transports move frames and know nothing of what is in them: a frame is bytes, one JSON text."""
