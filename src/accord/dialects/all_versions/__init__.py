"""Mappings between the session model and the wire that several protocol versions share."""
