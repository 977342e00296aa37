"""The program that `program()` starts: it passes stdin to a test, and writes what the test says to stdout and stderr.

It needs nothing but the standard library, so that it starts at once. From the test come records: a letter (O for stdout, E
for stderr, X for the exit code), four bytes of length, and that many bytes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import threading

HEAD = struct.Struct(">cI")


def main(address: str) -> int:
    """Until the test says with which code to end, or is gone."""
    host, port, token = address.split(":")
    with socket.create_connection((host, int(port))) as line:
        line.sendall(token.encode())
        threading.Thread(target=_listen, args=(line,), daemon=True).start()
        source = line.makefile("rb")
        while len(head := source.read(HEAD.size)) == HEAD.size:
            kind, size = HEAD.unpack(head)
            content = source.read(size)
            if kind == b"X":
                return int(content)
            _write(1 if kind == b"O" else 2, content)
    return 0


def _listen(line: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while heard := os.read(0, 65536):
            line.sendall(heard)
        line.shutdown(socket.SHUT_WR)


def _write(descriptor: int, content: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody reads it any more; the end of stdin will tell
        while content:
            content = content[os.write(descriptor, content) :]


if __name__ == "__main__":
    os._exit(main(sys.argv[1]))  # without waiting for a thread that reads stdin
