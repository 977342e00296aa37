"""Measures accord, the official Python and TypeScript SDKs and bare pipes side by side, over stdio between processes.

`python -m benchmarks` runs every case and prints the table. It needs Linux, because it reads `/proc` and pins CPUs.
"""
