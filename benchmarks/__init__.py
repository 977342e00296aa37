"""Measures accord, the official Python SDK and bare pipes side by side, over stdio between two processes.

`python -m benchmarks` runs every case and prints the table; it needs Linux, because it reads `/proc` and pins CPUs.
"""
