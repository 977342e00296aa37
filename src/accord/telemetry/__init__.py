"""What a server tells about itself: its traffic, metrics, logs, traces, and the page that shows them."""
