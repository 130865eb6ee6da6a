#!/usr/bin/env python3
"""Counts which parts of the steps of scenes run on one thread whatever the number of threads, and what share of a step
they would be with more of them:

    python3 scripts/serial_parts.py target/release/pliant gallery scenes/peers/pile27.toml --steps 60

Runs `pliant run` on one thread under `perf` (Linux) and takes each sample's stack: time below a loop of rayon can
be shared out, time that is below none is serial. Samples count time of the processor, so other load on the machine does
not matter. A loop over islands or bodies with one item counts as shared, but for the solves of islands: what an island
does for itself is taken to be done by its thread alone, as where there is one island. With N threads a step then takes
serial + shared / N at best; parts above the bound (5 %) of that are told by name."""

import argparse
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Frames that share out what is below them, and those at which an island or a step begins.
SHARED = re.compile(r"\brayon::(iter|slice)|\brayon_core::(join|scope)|bridge_producer_consumer")
ISLAND = re.compile(r"TouchedIslands::solve|UntouchedBodies::solve|for_each_island")
STEP = re.compile(r"ImplicitStepper.*(Stepper>::step$|::advance)")


def stacks(pliant, scene, steps, frequency):
    """Stacks of the samples of a run, the innermost function first."""
    with tempfile.TemporaryDirectory() as folder:
        samples = str(Path(folder) / "samples")
        # A stack must fit whole: deep ones are those of rayon.
        record = ["perf", "record", "-F", str(frequency), "--call-graph", "dwarf,24576", "-o", samples]
        run = [pliant, "run", scene, "--backend", "cpu", "--threads", "1", "--steps", str(steps)]
        done = subprocess.run(record + run, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{scene}: the run failed: {done.stderr.strip()[-500:]}")
        script = ["perf", "script", "-i", samples, "--no-inline", "-F", "comm,ip,sym"]
        text = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    for sample in text.split("\n\n"):
        yield [line.strip().partition(" ")[2] for line in sample.splitlines() if line.startswith("\t")]


def name(function):
    """A function without its type parameters."""
    return re.sub(r"<.*?>", "", function)[-60:]


def serial_part(stack):
    """What a sample of a step belongs to if it is serial, else None."""
    own = []
    for function in stack:
        if ISLAND.search(function) or STEP.search(function):
            break
        if SHARED.search(function):
            return None
        own.append(function)
    ours = [name(function) for function in own if "pliant" in function]
    # The outermost two say which part it is.
    return " < ".join(ours[-2:]) if ours else "the step itself"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("pliant", help="the program, with debug information")
    arguments.add_argument("scenes", nargs="+", help="scene files, or names of scenes of the gallery")
    arguments.add_argument("--steps", type=int, default=60)
    arguments.add_argument("--threads", type=int, default=8, help="threads that are counted for")
    arguments.add_argument("--bound", type=float, default=5.0, help="parts above this share [%%] are told")
    arguments.add_argument("--frequency", type=int, default=499, help="samples a second")
    given = arguments.parse_args()
    for scene in given.scenes:
        parts, n = collections.Counter(), 0
        for stack in stacks(given.pliant, scene, given.steps, given.frequency):
            if any(STEP.search(function) for function in stack):
                n += 1
                part = serial_part(stack)
                if part is not None:
                    parts[part] += 1
        if n == 0:
            sys.exit(f"{scene}: no sample is of a step: is there debug information in {given.pliant}?")
        serial = sum(parts.values())
        whole = serial + (n - serial) / given.threads
        print(f"{scene}: {n} samples, {100 * serial / n:.1f} % serial; with {given.threads} threads {100 * serial / whole:.1f} % "
              f"of a step, which is at most {n / whole:.1f} times as fast")
        told = [(part, count) for part, count in parts.most_common() if 100 * count > given.bound * whole]
        for part, count in told:
            print(f"    {100 * count / whole:5.1f} %  {part}")
        print(f"    {100 * (serial - sum(count for _, count in told)) / whole:5.1f} %  others, each below {given.bound:g} %")


if __name__ == "__main__":
    main()
