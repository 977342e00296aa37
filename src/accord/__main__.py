"""`python -m accord` is `accord`."""

from __future__ import annotations

from accord.cli import program

if __name__ == "__main__":
    program()
