"""Runs an agent program as if it had been written before v2: python older.py PROGRAM ARGUMENTS"""

from __future__ import annotations

import runpy
import sys
from functools import partial

from accord.agent import connection
from accord.dialects.negotiation import negotiate

if __name__ == "__main__":
    connection.negotiate = partial(negotiate, versions=[1])
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
