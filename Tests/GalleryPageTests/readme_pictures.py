#!/usr/bin/env python3
"""Takes the pictures of the gallery that README.md and Gallery.md show, from a real gallery with landscapes that it draws.

    scripts/check-pages --readme [--programs DIR]    writes them beside Interface.md, as WebP
"""

import math
import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from real_gallery import CHROMIUM, Gallery, chosen_programs

PAGE = Path(__file__).resolve().parents[2] / "Sources" / "Gallery" / "Documentation.docc"
ALBUMS = {"Alps in autumn": 26, "Lofoten": 19, "Lisbon": 14, "Garden": 9, "Walks at home": 17, "Birds": 8}
PATIENCE = 300_000
SHAPES = [(1500, 1000), (1500, 1000), (1000, 1500), (1600, 1200), (1200, 1600), (1600, 900), (1200, 1200)]
# Sky above, sky at the horizon, the farthest hills, the nearest hills, and the sun.
COLOURS = [
    ("#1d3b6f", "#f4a259", "#8d7aa5", "#1f2a44", "#ffe6b3"), ("#5fa8d3", "#e8f1f5", "#9db8c7", "#2f4a3c", "#fff6d6"),
    ("#2b2d5b", "#ef6f6c", "#6d5a86", "#191a36", "#ffd9a0"), ("#7cb7c9", "#fbe9c6", "#a9b89a", "#3e5232", "#fffbe6"),
    ("#0b1d3a", "#3a6ea5", "#2c4c74", "#081225", "#e9f1ff"), ("#c7dbe6", "#f7f3ea", "#b9c3c6", "#4b5a5c", "#ffffff"),
    ("#3f6c9b", "#ffd9b8", "#7e92a8", "#233f3a", "#fff1c9"), ("#6a4c93", "#ffb5a7", "#9d7fae", "#2d1e44", "#ffe9d6"),
]


def mixed(first, second, part):
    one, other = ([int(colour[at:at + 2], 16) for at in (1, 3, 5)] for colour in (first, second))
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(one, other))


def ridge(rng, width, height, base, roughness):
    """The outline of hills: waves of falling length and height."""
    waves = [(roughness / 1.9 ** octave, 2 ** octave * rng.uniform(0.8, 1.4), rng.uniform(0, 6.3))
             for octave in range(6)]
    points = []
    for step in range(241):
        x = step / 240
        y = base + sum(high * math.sin(6.28 * often * x + phase) for high, often, phase in waves)
        points.append(f"{x * width:.1f},{y * height:.1f}")
    return f"0,{height} {' '.join(points)} {width},{height}"


def trees(rng, width, height, base, colour):
    """Firs along the lower edge."""
    shapes = []
    for _ in range(rng.randrange(18, 40)):
        x, tall = rng.uniform(-0.05, 1.05) * width, rng.uniform(0.06, 0.17) * height
        foot = (base + rng.uniform(0.02, 0.1)) * height
        shapes.append(f"M{x:.0f} {foot - tall:.0f}l{tall * 0.2:.0f} {tall:.0f}h{-tall * 0.4:.0f}z")
    return f'<path d="{"".join(shapes)}" fill="{colour}"/>'


def landscape(seed, width, height):
    """Hills below a sky in the light of one hour, as SVG."""
    rng = random.Random(seed)
    top, low, far, near, sun = COLOURS[seed % len(COLOURS)]
    x, y, radius = rng.uniform(0.2, 0.8) * width, rng.uniform(0.2, 0.45) * height, rng.uniform(0.025, 0.06) * width
    hills, count = [], rng.randrange(4, 7)
    for layer in range(count):
        part = layer / (count - 1)
        outline = ridge(rng, width, height, 0.48 + 0.36 * part + rng.uniform(-0.03, 0.03), 0.075 - 0.035 * part)
        hills.append(f'<polygon points="{outline}" fill="{mixed(far, near, part)}"/>'
                     f'<polygon points="{outline}" fill="url(#haze)" opacity="{0.5 * (1 - part):.2f}"/>')
    stars = "".join(f'<circle cx="{rng.uniform(0, width):.0f}" cy="{rng.uniform(0, 0.4) * height:.0f}" '
                    f'r="{rng.uniform(0.6, 2):.1f}" fill="#fff" opacity="0.8"/>' for _ in range(60 * (seed % 8 == 4)))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">
      <linearGradient id="sky" x2="0" y2="1"><stop stop-color="{top}"/><stop
        offset="0.62" stop-color="{low}"/></linearGradient>
      <linearGradient id="haze" x2="0" y2="1"><stop stop-opacity="0"/><stop
        offset="0.8" stop-color="{low}"/></linearGradient>
      <radialGradient id="glow"><stop stop-color="{sun}" stop-opacity="0.8"/><stop
        offset="0.35" stop-color="{sun}" stop-opacity="0.25"/><stop
        offset="1" stop-color="{sun}" stop-opacity="0"/></radialGradient>
      <filter id="grain"><feTurbulence baseFrequency="0.8" numOctaves="2" seed="{seed}"/><feColorMatrix
        values="0 0 0 0 0.5  0 0 0 0 0.5  0 0 0 0 0.5  0.35 0 0 0 -0.08"/></filter>
      <rect width="100%" height="100%" fill="url(#sky)"/>{stars}
      <circle cx="{x:.0f}" cy="{y:.0f}" r="{6 * radius:.0f}" fill="url(#glow)"/>
      <circle cx="{x:.0f}" cy="{y:.0f}" r="{radius:.0f}" fill="{sun}"/>
      {"".join(hills)}{trees(rng, width, height, 0.93, mixed(near, "#000000", 0.35)) if seed % 3 else ""}
      <rect width="100%" height="100%" filter="url(#grain)" opacity="0.35"/></svg>"""


def draw(browser, root):
    """Draws the photos into their albums, with the times of a year's walks."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    seed, moment = 0, 1_762_000_000
    for album, count in ALBUMS.items():
        (root / album).mkdir()
        for number in range(count):
            width, height = SHAPES[random.Random(seed).randrange(len(SHAPES))]
            page.set_viewport_size({"width": width, "height": height})
            page.set_content(f"<body style='margin:0'>{landscape(seed, width, height)}")
            path = root / album / "Photo" / f"IMG_{2041 + seed}.jpg"
            path.write_bytes(page.screenshot(type="jpeg", quality=88))
            moment -= random.Random(seed).randrange(1000, 9000) if number else 900_000
            os.utime(path, (moment, moment))
            seed += 1
    page.close()


def shoot(browser, url, password, folder):
    """Takes the pictures: the albums, an album, the viewer, and both on a phone in the dark."""
    def person(**view):
        page = browser.new_context(**view, locale="en-GB", ignore_https_errors=True).new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(url)
        page.fill("input[type=password]", password)
        page.keyboard.press("Enter")
        page.wait_for_selector(".card img")
        return page

    def keep(page, name):
        page.mouse.move(0, 0)
        page.wait_for_timeout(2500)
        page.screenshot(path=str(folder / f"{name}.png"))

    desktop = person(viewport={"width": 1200, "height": 720})
    keep(desktop, "Albums")
    desktop.click(".card:has(.card-name:text-is('Lofoten'))")
    desktop.wait_for_selector(".tile img")
    keep(desktop, "Photos")
    desktop.click(".tile >> nth=1")
    desktop.wait_for_selector(".slide .preview")
    desktop.keyboard.press("i")
    keep(desktop, "Viewer")
    phone = person(viewport={"width": 360, "height": 720}, device_scale_factor=1.5, has_touch=True, is_mobile=True,
                   color_scheme="dark")
    phone.tap("nav button >> nth=3")
    phone.wait_for_selector(".tile img")
    keep(phone, "Phone")


def main(programs):
    folder = Path(tempfile.mkdtemp(prefix="albumfs-test-readme-"))
    gallery = None
    try:
        gallery = Gallery(programs, folder, "a password for pictures")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            with gallery.mounted() as root:
                draw(browser, root)
            shoot(browser, gallery.start(), gallery.password, folder)
            browser.close()
        for path in sorted(folder.glob("*.png")):
            target = PAGE / f"{path.stem}.webp"
            subprocess.run(["vips", "copy", str(path), f"{target}[Q=80,effort=6]"], check=True)
            print(f"{target.stat().st_size:8} {target}")
    finally:
        if gallery:
            gallery.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(chosen_programs(__doc__))
