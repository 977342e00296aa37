"""`python -m accord` is `accord`."""

from __future__ import annotations

import sys

from accord.cli import main

if __name__ == "__main__":
    sys.exit(main())
