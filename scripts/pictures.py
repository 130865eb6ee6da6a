#!/usr/bin/env python3
"""Makes every picture of the README and of the guide from the program as it is.

    scripts/pictures.py [--program PATH] [NAME.png ...]

Needs Xvfb and xdotool for the pictures of the window, and nothing beside Python. The program is target/release/pliant
unless another one is named.
"""

import argparse
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/guide/images"
PATIENCE = 300  # s


class Window:
    """The program on a virtual screen of its own, driven by its log of events."""

    def __init__(self, program, arguments, size):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pliant-pictures-"))
        # The window leaves room for the bars of a desktop.
        self.size = size
        screen = f"{int(1.1 * size[0])}x{size[1] + 100}x24"
        command = ["Xvfb", "-displayfd", "1", "-screen", "0", screen, "-nolisten", "tcp", "-noreset", "-fbdir", str(self.folder)]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.display = ":" + self.server.stdout.readline().decode().strip()
        self.log = self.folder / "events"
        self.log.touch()
        folder = str(self.folder)
        self.environment = dict(os.environ, DISPLAY=self.display, HOME=folder, XDG_CONFIG_HOME=folder, XDG_RUNTIME_DIR=folder,
                                PLIANT_CONFIG_DIR=folder)
        for name in ("WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"):
            self.environment.pop(name, None)
        os.chmod(self.folder, 0o700)
        # Without the hints of a first start.
        settings = {"hints_seen": True, "window": {"size": list(size)}}
        (self.folder / "settings.json").write_text(json.dumps(settings))
        self.program = subprocess.Popen([program, *arguments, "--log-events", str(self.log)], env=self.environment)
        self.seen = 0
        self.wait("scene loaded")
        self.xdotool("search", "--sync", "--onlyvisible", "--name", "Pliant", "windowfocus", "--sync")

    def lines(self):
        return self.log.read_text().splitlines()

    def wait(self, start, holds=lambda line: True):
        """The next line that starts so; lines before it are gone."""
        deadline = time.time() + PATIENCE
        while time.time() < deadline and self.program.poll() is None:
            lines = self.lines()
            for k in range(self.seen, len(lines)):
                if lines[k].startswith(start) and holds(lines[k]):
                    self.seen = k + 1
                    return lines[k]
            time.sleep(0.05)
        raise SystemExit(f"waited in vain for {start}; the last lines: {self.lines()[-5:]}")

    def wait_step(self, step):
        self.wait("step ", lambda line: int(line.split()[1]) >= step)

    def place(self, start, gone=None):
        """Where the newest line that starts so says that it is, unless it is gone since."""
        deadline = time.time() + PATIENCE
        while time.time() < deadline:
            for line in reversed(self.lines()):
                if line == gone:
                    break
                if line.startswith(start):
                    return [int(x) for x in line.split()[-2:]]
            time.sleep(0.05)
        raise SystemExit(f"there is no {start}")

    def widget(self, name):
        return self.place(f"widget {name} ", f"gone {name}")

    def click(self, widget):
        time.sleep(0.4)
        self.click_at(self.widget(widget))

    def click_at(self, place):
        self.xdotool("mousemove", *map(str, place))
        time.sleep(0.3)
        self.xdotool("click", "1")
        time.sleep(0.3)

    def rest(self, place):
        """Moves the pointer to where it shows no hint."""
        self.xdotool("mousemove", *map(str, place))
        time.sleep(1.2)

    def key(self, key):
        self.xdotool("key", key)
        time.sleep(0.3)

    def xdotool(self, *arguments):
        subprocess.run(["xdotool", *arguments], env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def picture(self, path):
        screen = next(self.folder.glob("Xvfb_screen*"))
        _, _, rows = read_xwd(screen.read_bytes())
        width, height = self.size
        path.write_bytes(png(width, height, [row[:3 * width] for row in rows[:height]]))

    def close(self):
        for process in (self.program, self.server):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def read_xwd(data):
    """Width, height and rows of RGB of a dump of a screen with 32 bits a pixel."""
    header = struct.unpack(">25I", data[:100])
    start, width, height, stride, colors = header[0], header[4], header[5], header[12], header[19]
    pixels = data[start + 12 * colors:]
    rows = []
    for y in range(height):
        row = pixels[y * stride:y * stride + 4 * width]
        rgb = bytearray(3 * width)
        rgb[0::3], rgb[1::3], rgb[2::3] = row[2::4], row[1::4], row[0::4]
        rows.append(bytes(rgb))
    return width, height, rows


def png(width, height, rows):
    """Each row as its difference from the pixel at the left or from the row above, whichever is smaller."""
    packed, above = bytearray(), bytes(3 * width)
    cost = lambda line: sum(min(x, 256 - x) for x in line)
    for row in rows:
        left = bytes((x - y) & 255 for x, y in zip(row, b"\0\0\0" + row))
        up = bytes((x - y) & 255 for x, y in zip(row, above))
        kind, line = min(((1, left), (2, up)), key=lambda entry: cost(entry[1]))
        packed.append(kind)
        packed += line
        above = row

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(packed), 9)) + chunk(b"IEND", b"")


def still(program, path, scene, seconds, size):
    """The last picture of a run."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "frames"
        command = [program, "run", scene, "--seconds", str(seconds), "--fps", "1", "--size", size, "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        shutil.copy(sorted(out.glob("*.png"))[-1], path)


SIZE = (1180, 720)


def window(program, path, arguments, steps):
    shown = Window(program, arguments, SIZE)
    try:
        steps(shown)
        shown.picture(path)
    finally:
        shown.close()


def paused_at(shown, step):
    shown.wait_step(step)
    shown.key("space")
    shown.wait("activity Paused")
    time.sleep(1)


def of_window(shown):
    paused_at(shown, 70)
    shown.click("tree.body.bunny")
    shown.rest([600, 60])


def of_import(shown):
    paused_at(shown, 40)
    shown.rest([700, 60])


def of_contacts(shown):
    shown.key("c")
    paused_at(shown, 30)
    shown.rest([600, 60])


def of_stress(shown):
    paused_at(shown, 45)
    for widget in ("menu.View", "menu.View.Colour", "color.Stress_(von_Mises)"):
        shown.click(widget)
    shown.wait("colored by")
    shown.rest([600, 60])


def of_tets(shown):
    paused_at(shown, 40)
    for widget in ("menu.View", "menu.View.Tetrahedra"):
        shown.click(widget)
    time.sleep(1)
    shown.key("Escape")
    shown.wait("gone menu.View.Tetrahedra")
    shown.rest([600, 60])


def of_inside(shown):
    paused_at(shown, 40)
    for key in ("i", "x"):
        shown.key(key)
        time.sleep(1)
    shown.rest([900, 500])


def of_brush(shown):
    """The ears of the bunny become of the other material."""
    paused_at(shown, 5)
    shown.key("b")
    shown.wait("colored by Material")
    x, y = shown.place("body bunny ")
    shown.xdotool("mousemove", str(x - 50), str(y - 55), "mousedown", "1")
    for k in range(1, 11):
        shown.xdotool("mousemove", str(x - 50 + 5 * k), str(y - 55 + 2 * k))
        time.sleep(0.1)
    shown.xdotool("mouseup", "1")
    shown.wait("edited body.bunny.region")
    time.sleep(4)
    shown.rest([x - 30, y - 50])


def of_time(shown):
    """Pulled aside in the past: a branch, compared with what came without the pull."""
    paused_at(shown, 90)
    (left, y), (right, _) = shown.widget("timeline.start"), shown.widget("timeline.end")
    shown.click_at([(left + right) // 2, y])
    shown.wait("past ")
    time.sleep(1)
    x, y = shown.place("body bunny ")
    shown.xdotool("mousemove", str(x), str(y), "mousedown", "1")
    shown.wait("branch 2")
    shown.key("space")
    for k in range(1, 9):
        shown.xdotool("mousemove", str(x + 20 * k), str(y - 8 * k))
        time.sleep(0.1)
    shown.wait("step ")
    step = int(shown.wait("step ").split()[1])
    shown.wait_step(step + 20)
    shown.key("space")
    shown.wait("activity Paused")
    shown.key("g")
    shown.wait("ghost branch=1")
    time.sleep(1)


PICTURES = {
    "gallery.png": lambda program, path: still(program, path, "gallery", 1, "1180x664"),
    "materials.png": lambda program, path: still(program, path, str(ROOT / "docs/guide/three-bars.toml"), 3, "1000x560"),
    "window.png": lambda program, path: window(program, path, ["gallery"], of_window),
    "import.png": lambda program, path: window(program, path, [str(ROOT / "tests/data/mushroom_open.off")], of_import),
    "contacts.png": lambda program, path: window(program, path, ["rigid_stack"], of_contacts),
    "stress.png": lambda program, path: window(program, path, ["bunny"], of_stress),
    "tets.png": lambda program, path: window(program, path, ["bunny"], of_tets),
    "inside.png": lambda program, path: window(program, path, ["bunny"], of_inside),
    "brush.png": lambda program, path: window(program, path, ["gallery"], of_brush),
    "time.png": lambda program, path: window(program, path, ["bunny"], of_time),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "target/release/pliant"))
    parser.add_argument("names", nargs="*", help="only these pictures")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or PICTURES:
        if name not in PICTURES:
            raise SystemExit(f"there is no picture {name}; there are {', '.join(PICTURES)}")
        print(name, flush=True)
        PICTURES[name](program, IMAGES / name)


if __name__ == "__main__":
    main()
