#!/usr/bin/env python3
"""Drops each mesh of `tests/data` onto a floor, and writes what became of it into the table of its README:

    python3 scripts/dropped_meshes.py target/release/pliant
"""

import csv
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
HEAD = "| file | surface | tets | ms a step: mean | median | worst | not converged | volume |\n|---|---|---|---|---|---|---|---|\n"
# What notes say of a surface, in short.
NOTES = {"was mended": "mended", "winds around": "filled where it winds around", "the outside of the tets": "touches with its tets"}
NO_MESHES = {".md", ".mtx", ".txt"}


def row(pliant, path, folder):
    """The row of a mesh, and whether it came to rest whole."""
    trace = Path(folder) / "trace.csv"
    command = [pliant, "run", "--drop", str(path), "--backend", "cpu", "--threads", "2", "--trace", str(trace)]
    ended = subprocess.run(command, capture_output=True, text=True)
    told = ended.stdout + ended.stderr
    if ended.returncode != 0:
        return f"| `{path.name}` | refused: {told.strip().splitlines()[-1]} |", False
    steps = list(csv.DictReader(trace.open()))
    ms = [float(step["ms"]) for step in steps]
    surface = ", ".join(short for note, short in NOTES.items() if note in told) or "as it is"
    tets = int(re.search(r"(\d+) tets", told)[1])
    volume = re.search(r"volume ([\d.]+ %)", told)[1]
    unconverged = sum(step["converged"] == "0" for step in steps)
    times = f"{statistics.mean(ms):.1f} | {statistics.median(ms):.1f} | {max(ms):.0f}"
    return f"| `{path.name}` | {surface} | {tets:,} | {times} | {unconverged} | {volume} |", "intact" in told


def main():
    pliant = sys.argv[1]
    readme = DATA / "README.md"
    text = readme.read_text()
    named = sorted(path for path in DATA.iterdir() if path.suffix not in NO_MESHES and f"| `{path.name}` |" in text)
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(pliant, path, folder) for path in named]
    broken = [line for line, is_intact in rows if not is_intact]
    readme.write_text(text[: text.index("| file | surface |")] + HEAD + "\n".join(line for line, _ in rows) + "\n")
    sys.exit("not intact:\n" + "\n".join(broken) if broken else 0)


if __name__ == "__main__":
    main()
