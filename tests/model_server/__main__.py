"""Serve a script until the process is ended; the first line on stdout says where, as JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
from contextlib import suppress
from pathlib import Path

from tests.model_server.script import Script
from tests.model_server.server import ModelServer


async def serve(script: Script, port: int) -> None:
    async with ModelServer(script, port) as server:
        print(json.dumps({"url": server.url, "port": server.port}), flush=True)  # noqa: T201  # that is its output
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.model_server", description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="JSON file with the replies")
    parser.add_argument("--port", type=int, default=0, help="0 for any that is free")
    arguments = parser.parse_args()
    script = Script(json.loads(arguments.script.read_text(encoding="utf-8")))
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(script, arguments.port))


if __name__ == "__main__":
    main()
