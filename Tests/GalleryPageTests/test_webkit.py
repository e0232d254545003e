#!/usr/bin/env python3
"""Uses a real gallery in WebKitGTK, the nearest to Safari: from a wrong password to the lock.

    scripts/check-pages --webkit [--programs DIR] [--pictures DIR]

Needs WebKitWebDriver and Xvfb. --pictures keeps a screenshot of each step.
"""

import os
import shutil
import sys
import tempfile
import traceback
import zipfile
from pathlib import Path

import mock_server
from real_gallery import Gallery, parser_of_programs
from webkit import CONTROL, Browser

PATIENCE = int(os.environ.get("PAGE_TEST_PATIENCE", "120"))
PASSWORD = "webkit is not chromium"
SIZES = [(300, 200), (200, 300), (260, 260), (420, 180)]


def landscape(number):
    return mock_server.landscape(number, *SIZES[number % len(SIZES)]) + b"end %d" % number


class Person:
    def __init__(self, browser, url, pictures):
        self.browser, self.url, self.pictures = browser, url, pictures
        self.steps = 0

    def keep(self, name):
        self.steps += 1
        if self.pictures:
            self.browser.picture(self.pictures / f"webkit-{self.steps:02}-{name}.png")

    def says(self, selector, text):
        self.browser.until("document.querySelector(arguments[0])?.textContent.trim() === arguments[1]", selector, text)

    def has(self, count, selector):
        self.browser.until("document.querySelectorAll(arguments[0]).length === arguments[1]", selector, count)

    def tiles(self, count):
        """So many photos, and those in sight with their thumbnails."""
        self.has(count, ".tile")
        self.browser.until("[...document.querySelectorAll('.tile')].every(tile => tile.querySelector('img')?.naturalWidth > 0)")

    def log_in(self):
        browser = self.browser
        browser.go(self.url)
        browser.type("input[type=password]", "this is not it")
        browser.press("Enter")
        self.says(".login-message", "Wrong password.")
        self.keep("refused")
        browser.type("input[type=password]", PASSWORD)
        browser.press("Enter")
        browser.find("nav [aria-current]")

    def look(self, names):
        """Albums with covers, the grid, and the viewer: pages, original, information, zoom."""
        browser = self.browser
        self.has(2, ".card")
        browser.until("[...document.querySelectorAll('.card .cover-image img')].filter(i => i.naturalWidth > 0).length === 2")
        self.keep("albums")
        browser.click(".card")
        self.tiles(len(names))
        self.keep("grid")
        browser.click(".tile")
        for name in names:
            self.says(".viewer-caption strong", name)
            browser.until("document.querySelector('.slide:not([aria-hidden]) .preview')?.naturalWidth > 0")
            browser.press("ArrowRight")
        browser.press("o")
        browser.until("document.querySelector('.slide:not([aria-hidden]) .original')?.naturalWidth > 0")
        browser.press("i")
        browser.until("document.querySelector('.viewer-info dl')?.textContent.includes('420 × 180')")
        self.keep("viewer")
        browser.press("i")
        browser.press("+")
        browser.find(".zoomed")
        browser.press("0")
        browser.press("Escape")
        self.has(0, ".viewer")

    def upload(self, files):
        """Files of the picker; the browser's own dialog, which nobody can drive, stays closed."""
        browser = self.browser
        browser.run("HTMLInputElement.prototype.click = function () {}")
        browser.click(".upload-button")
        browser.choose(".file-input", files)
        self.says(".upload-panel h2", f"{len(files)} files to upload")
        self.has(len(files), ".upload-preview canvas")
        self.keep("to-upload")
        browser.click(".upload-buttons .main")
        self.says(".upload-panel h2", f"All {len(files)} files are saved")
        self.keep("uploaded")
        browser.click(".upload-buttons .main")

    def delete_and_undo(self, before):
        browser = self.browser
        browser.click(".tile", held=CONTROL)
        self.says(".selection-bar strong", "1 selected")
        browser.press("Delete")
        self.has(before - 1, ".tile")
        self.keep("deleted")
        browser.click(".toast-button", "Undo")
        self.tiles(before)

    def download(self, folder, count):
        browser = self.browser
        browser.click(".tile", held=CONTROL)
        browser.click(".selection-bar .plain")
        self.says(".selection-bar strong", f"{count} selected")
        browser.click(".selection-bar button[title=Download]")
        browser.wait(lambda: [path for path in folder.rglob("*.zip") if zipfile.is_zipfile(path)], "no zip file came")
        browser.press("Escape")
        (path,) = folder.rglob("*.zip")
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            return {name: archive.read(name) for name in archive.namelist()}

    def look_below_albums(self, photos):
        """A group's tile and its files, and the pages below the albums."""
        browser = self.browser
        for page, shown in ((".to-places", ".empty"), (".to-duplicates", ".copy-set .card[aria-pressed=true]"),
                            (".to-deleted", ".card[data-file]")):
            browser.click(".navigation button", "Albums")
            browser.click(page)
            browser.find(shown)
            self.keep(page[4:])
        browser.click(".navigation button", "Albums")
        browser.click(".card-name", "Beach")
        self.tiles(photos)
        browser.click(".tile:has(.tile-sign)")
        browser.press("i")
        browser.until("document.querySelector('.viewer-info')?.textContent.includes('WALK-edited.png')")
        self.keep("group")
        browser.press("Escape")
        self.has(0, ".viewer")

    def lock(self):
        self.browser.click(".lock")
        self.browser.find("input[type=password]")
        assert self.browser.run("return document.querySelectorAll('.tile, .card, img').length") == 0
        self.keep("locked")


def fill(gallery, names):
    with gallery.mounted() as root:
        for album, first in (("Alps", 0), ("Beach", len(names))):
            (root / album).mkdir()
            for number, name in enumerate(names):
                (root / album / "Photo" / name).write_bytes(landscape(first + number))
        beach = root / "Beach" / "Photo"
        # One photo in two forms, one that Alps has too, and one that was deleted.
        for name, number in (("WALK.png", 30), ("WALK-edited.png", 31), ("Copy.png", 0), ("Gone.png", 32)):
            (beach / name).write_bytes(landscape(number))
        (beach / "Gone.png").unlink()


def use(gallery, folder, pictures):
    names = [f"IMG_{number}.png" for number in range(1, 5)]
    fill(gallery, names)
    new = folder / "new"
    new.mkdir()
    for number in range(3):
        (new / f"New {number}.png").write_bytes(landscape(20 + number))
    home = folder / "browser"
    (home / "Downloads").mkdir(parents=True)
    url = gallery.start()
    with Browser(home, PATIENCE) as browser:
        person = Person(browser, url, pictures)
        try:
            person.log_in()
            person.look(names)
            person.upload(sorted(new.iterdir()))
            person.tiles(7)
            person.delete_and_undo(7)
            found = person.download(home, 7)
            wanted = {path.name: path.read_bytes() for path in new.iterdir()}
            wanted |= {name: landscape(number) for number, name in enumerate(names)}
            assert found == wanted, sorted(found)
            person.look_below_albums(len(names) + 2)
            person.lock()
        except BaseException:
            person.keep("failed")
            raise
        return browser.version


def main(arguments):
    folder = Path(tempfile.mkdtemp(prefix="albumfs-test-webkit-"))
    gallery = Gallery(arguments.programs.resolve(), folder, PASSWORD)
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    try:
        version = use(gallery, folder, arguments.pictures)
        print(f"WebKitGTK {version} shows, uploads, deletes, downloads, and has the pages below the albums.")
        return 0
    except Exception:
        print(f"FAIL\n{traceback.format_exc()}")
        return 1
    finally:
        gallery.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    parser = parser_of_programs(__doc__)
    parser.add_argument("--pictures", type=Path, help="folder for screenshots")
    sys.exit(main(parser.parse_args()))
