#!/usr/bin/env python3
"""Scene A in MuJoCo and in Pliant, by turns in one run: a clamped bar of tets begins to swing (1 s, 60 steps of 1/60 s).

    pip install mujoco numpy
    benches/peers/with_mujoco.py [--pliant target/release/pliant] [--sizes 810 10k 52k] [--rounds 3] [--json FILE]

One thread each. Prints the median time of a step. MuJoCo's integrator
`discrete` (version 3.13 or newer) is the fastest that its authors offer for this; its material is St. Venant-Kirchhoff, so the ways differ a little.
"""

import argparse
import importlib.metadata
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time

import mujoco
import numpy as np

CELLS = {"810": (15, 3, 3), "10k": (35, 7, 7), "52k": (60, 12, 12)}
SIZE = (1.0, 0.2, 0.2)
VERSION = importlib.metadata.version("mujoco")
STEPS = 60
WARM_UP = 5


def bar(cells):
    """Points and Kuhn tets of a box of cells, as `scenes/peers/cantilever_*.toml` has them."""
    axes = [np.linspace(0.0, size, n + 1) for size, n in zip(SIZE, cells)]
    points = np.array(list(itertools.product(*axes)))
    place = np.arange(len(points)).reshape([n + 1 for n in cells])
    tets = []
    for cell in np.ndindex(*cells):
        for order in itertools.permutations(range(3)):
            corner, tet = list(cell), [place[cell]]
            for axis in order:
                corner[axis] += 1
                tet.append(place[tuple(corner)])
            edges = points[tet[1:]] - points[tet[0]]
            if np.linalg.det(edges) < 0.0:
                tet[2], tet[3] = tet[3], tet[2]
            tets.append(tet)
    return points, np.array(tets)


def model(cells, poisson_ratio):
    points, tets = bar(cells)
    text = lambda values: " ".join(map(str, np.asarray(values).ravel()))
    held = np.flatnonzero(points[:, 0] < 1e-9)
    xml = f"""
    <mujoco>
      <option integrator="discrete" timestep="{1 / 60}" gravity="0 0 -9.81" solver="CG" jacobian="sparse"/>
      <size memory="4G"/>
      <worldbody>
        <flexcomp name="bar" type="direct" dim="3" mass="{1000.0 * np.prod(SIZE)}" radius="0.001" point="{text(points)}" element="{text(tets)}">
          <contact selfcollide="none" contype="0" conaffinity="0"/>
          <elasticity young="5e5" poisson="{poisson_ratio}" damping="0.02"/>
          <pin id="{text(held)}"/>
        </flexcomp>
      </worldbody>
    </mujoco>"""
    return mujoco.MjModel.from_xml_string(xml)


def in_mujoco(cells, poisson_ratio):
    """Median milliseconds of a step after the warm-up."""
    described = model(cells, poisson_ratio)
    data = mujoco.MjData(described)
    ms = []
    for _ in range(STEPS):
        start = time.perf_counter()
        mujoco.mj_step(described, data)
        ms.append((time.perf_counter() - start) * 1e3)
    if not np.isfinite(data.qpos).all():
        raise SystemExit("MuJoCo's bar has left the numbers")
    return statistics.median(ms[WARM_UP:])


def in_pliant(program, scene, poisson_ratio):
    flags = ["--backend", "cpu", "--threads", "1", "--set", f"material.rubber.poisson_ratio={poisson_ratio}"]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        bench = [program, "bench", "step", "--scene", scene, "--steps", str(STEPS - WARM_UP), "--json", out.name]
        subprocess.run(bench + flags, check=True, stdout=subprocess.DEVNULL)
        return json.load(open(out.name))[0]["ms"]["median"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pliant", default="target/release/pliant")
    parser.add_argument("--sizes", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--poisson-ratio", nargs="+", type=float, default=[0.2, 0.45])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    records = []
    print(f"MuJoCo {VERSION}; ms a step, median of {args.rounds} rounds (least to most)")
    for size, poisson_ratio in itertools.product(args.sizes, args.poisson_ratio):
        mujoco_ms, pliant_ms = [], []
        for _ in range(args.rounds):
            mujoco_ms.append(in_mujoco(CELLS[size], poisson_ratio))
            pliant_ms.append(in_pliant(args.pliant, f"scenes/peers/cantilever_{size}.toml", poisson_ratio))
        ratios = [m / p for m, p in zip(mujoco_ms, pliant_ms)]
        spread = lambda values: f"{statistics.median(values):8.2f} ({min(values):.2f} to {max(values):.2f})"
        print(f"{size:>4} nu {poisson_ratio}: MuJoCo {spread(mujoco_ms)}, Pliant {spread(pliant_ms)}, ratio {spread(ratios)}")
        sys.stdout.flush()
        records.append({"size": size, "poisson_ratio": poisson_ratio, "mujoco_ms": mujoco_ms, "pliant_ms": pliant_ms, "ratios": ratios})
    if args.json:
        with open(args.json, "w") as out:
            json.dump({"mujoco": VERSION, "records": records}, out, indent=2)


if __name__ == "__main__":
    main()
