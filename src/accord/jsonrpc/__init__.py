"""JSON-RPC 2.0 as frames and events: no input or output, no clock, no knowledge of what the methods mean."""
