"""A robot with a command line of its own, for adapter.py to wrap: python robot.py "cat notes.md"

A line of its task is a tool and words for it. It tells what happens in JSON, one event per line. Before it changes
anything it asks, and a line with "y" on stdin is a yes; in the mode "bold" it does not ask.
"""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

MODE = {"name": "careful"}
TOOLS = {
    "cat": lambda path: Path(path).read_text(),
    "put": lambda path, *words: Path(path).write_text(" ".join(words)),
    "rm": lambda path: Path(path).unlink(),
    "mv": lambda path, target: Path(path).rename(target),
    "grep": lambda word: [path.name for path in Path().glob("*.*") if word in path.read_text()],
    "sh": lambda *words: subprocess.check_output(words, text=True),
    "think": lambda *words: " ".join(words),
    "get": lambda url: urllib.request.urlopen(url).read().decode(),
    "mode": lambda name: MODE.update(name=name),
    "count": lambda path: len(Path(path).read_text()),
}
stops = "ready"
for number, line in enumerate(sys.argv[1].splitlines()):
    tool, *words = line.split()
    if number == 20 or ".." in line or tool not in TOOLS:
        stops = "tired" if number == 20 else "unwilling"
        break
    print(json.dumps({"uses": tool, "words": words}), flush=True)
    try:
        if MODE["name"] != "bold" and tool in ("put", "rm", "mv", "sh"):
            print(json.dumps({"asks": tool}), flush=True)
            assert input() == "y", "not allowed"
        print(json.dumps({"done": True, "text": str(TOOLS[tool](*words))}), flush=True)
    except (AssertionError, OSError, TypeError, subprocess.SubprocessError) as error:
        print(json.dumps({"done": False, "text": str(error)}), flush=True)
print(json.dumps({"stops": stops}))
