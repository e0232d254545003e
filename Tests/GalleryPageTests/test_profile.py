#!/usr/bin/env python3
"""Uses a real gallery in a real Chromium with a profile on disk, and searches the profile for what was shown.

A person logs in, looks at albums, thumbnails and pictures, makes and renames an album, uploads, searches an album to
move a photo to, downloads, deletes and locks. Then the browser closes. No file of its home directory and of its
temporary directory may contain a name, the password, or a piece of a picture, thumbnail or preview. Each name has a
random word, and the pictures are noise: a dictionary coder as Snappy's or LZ4's leaves both as they are, so that the
search of the plain bytes finds them in most databases. Streams of deflate are inflated, values of SQLite are read.

The search is tried, too: the same browser visits a page of this test that lets itself be kept, and the search must
find its title and its picture.

    scripts/check-pages --profile [--programs DIR]    programs of a debug build by default
"""

import base64
import contextlib
import hashlib
import http.server
import json
import os
import re
import secrets
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import zlib
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

import mock_server
from real_gallery import CHROMIUM, Gallery, chosen_programs, wait_until

PATIENCE = int(os.environ.get("PAGE_TEST_PATIENCE", "300")) * 1000
# So many pieces of so many bytes are searched for of each picture.
PIECES, PIECE = 6, 20


# The needles: names and pieces of pictures that the browser must not keep


def noise(width=640, height=480):
    """A PNG that no other picture resembles."""
    return mock_server.png(width, height, [os.urandom(3 * width) for _ in range(height)])


def pieces(picture):
    """Bytes from all parts of a picture but its ends, where headers and tables may be the same in all."""
    step = len(picture) // (PIECES + 2)
    return [picture[at:at + PIECE] for at in range(step, step * (PIECES + 1), step)]


class Secrets:
    """The needles of the search, each with a description that a report may show."""

    def __init__(self):
        self.needles = {}

    def add_text(self, what, text):
        self.needles[text.encode()] = what
        self.needles[text.encode("utf-16-le")] = f"{what}, as UTF-16"

    def add_picture(self, what, picture):
        assert len(picture) > 1000, (what, len(picture))
        for piece in pieces(picture):
            self.needles[piece] = f"a piece of {what}"

    def word(self, what):
        """A new random word for a name."""
        word = secrets.token_hex(8)
        self.add_text(what, word)
        return word


# The search


def inflated(content):
    """Yields the content of each stream of deflate, wherever in a file it begins."""
    for match in re.finditer(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]", content):
        reader = zlib.decompressobj(zlib.MAX_WBITS | 32)
        with contextlib.suppress(zlib.error):
            found = reader.decompress(content[match.start():match.start() + (16 << 20)], 64 << 20)
            if len(found) > PIECE:
                yield found


def values(path):
    """All values of a SQLite file: a long one is spread over pages that need not follow each other."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as file:
        file.text_factory = bytes
        for (table,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            with contextlib.suppress(sqlite3.Error):
                for row in file.execute(f'SELECT * FROM "{table.decode()}"'):
                    yield from (value for value in row if isinstance(value, bytes))


def search(folder, hidden):
    """Yields where in a folder something hidden is, and what: in names and in contents of files."""
    for path in sorted(folder.rglob("*")):
        texts = [os.fsencode(path.relative_to(folder))]
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            texts += [content, *inflated(content)]
            if content.startswith(b"SQLite format 3\0"):
                texts += values(path)
        for text in texts:
            for needle, what in hidden.needles.items():
                if needle in text:
                    yield path.relative_to(folder), what


def is_in_a_file(folder, hidden):
    """True if a file has something hidden as it is, while others may come and go."""
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            content = path.read_bytes()
            if any(needle in content for needle in hidden.needles):
                return True
    return False


# The gallery


def fill(gallery, hidden):
    """Makes two albums of pictures; returns the names of the albums, and of the photos in each."""
    albums = [f"Trip {hidden.word('an album')}", f"Größe {hidden.word('another album')}"]
    photos = [f"IMG_{number} {hidden.word('a photo')}.png" for number in range(4)]
    with gallery.mounted() as root:
        for album in albums:
            (root / album).mkdir()
            for number, name in enumerate(photos):
                picture = noise()
                hidden.add_picture(f"picture {number}", picture)
                (root / album / "Photo" / name).write_bytes(picture)
    return albums, photos


def add_thumbnails(gallery, hidden):
    """Adds the thumbnails to the needles, those of the uploads too."""
    with gallery.mounted() as root:
        found = [path for path in root.rglob("Thumb/*") if path.is_file()]
        assert len(found) >= 8, len(found)
        for path in found:
            hidden.add_picture("a thumbnail", path.read_bytes())


# The browser


class Certificate:
    """A certificate for this machine, and the hash by which Chromium can be told to trust its key."""

    def __init__(self, folder):
        self.key, self.file = folder / "tls.key", folder / "tls.pem"
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.key, "-out", self.file,
                     "-days", "9", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
        public = self.openssl("pkey", "-in", self.key, "-pubout", "-outform", "DER")
        self.hash = base64.b64encode(hashlib.sha256(public).digest()).decode()

    @staticmethod
    def openssl(*words):
        return subprocess.run(["openssl", *words], check=True, capture_output=True).stdout


class Keepable:
    """A page that lets the browser keep all of it, to try the search."""

    def __init__(self, certificate):
        self.word = secrets.token_hex(8)
        picture, page = noise(), f"<title>Control {self.word}</title><img src=/picture.png>".encode()
        self.picture = picture

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body, kind = (picture, "image/png") if self.path == "/picture.png" else (page, "text/html")
                self.send_response(200)
                for name, value in (("Content-Type", kind), ("Cache-Control", "max-age=86400"),
                                    ("Content-Length", str(len(body)))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.file, certificate.key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"https://127.0.0.1:{self.server.server_port}/"


@contextlib.contextmanager
def chromium(home, certificate):
    """A browser as a person starts it, with its profile in `home`; Playwright only connects to it.

    Playwright's own start would keep most of what a browser writes from the disk. The certificate counts as good, as
    where a person has installed it: Chromium keeps nothing of pages whose certificate it was told to overlook.
    """
    profile = home / ".config" / "chromium"
    (profile / "Default").mkdir(parents=True)
    (home / "tmp").mkdir()
    (home / "Downloads").mkdir()
    # With this choice of a person, a browser keeps what was open for its next start.
    (profile / "Default" / "Preferences").write_text(json.dumps({"session": {"restore_on_startup": 1}}))
    environment = dict(os.environ, HOME=str(home), TMPDIR=str(home / "tmp"), XDG_CONFIG_HOME=str(home / ".config"),
                       XDG_CACHE_HOME=str(home / ".cache"), LANG="en_GB.UTF-8")
    process = subprocess.Popen(
        [CHROMIUM, "--headless", "--no-sandbox", "--no-first-run",
         "--password-store=basic", "--remote-debugging-port=0",
         f"--ignore-certificate-errors-spki-list={certificate.hash}",
         f"--user-data-dir={profile}", "--window-size=1280,800", "--lang=en-GB", "about:blank"],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True)
    try:
        port = profile / "DevToolsActivePort"
        wait_until(lambda: port.exists() and len(port.read_text().split()) == 2, "Chromium does not start")
        with sync_playwright() as playwright:
            browser = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port.read_text().split()[0]}")
            session = browser.new_browser_cdp_session()
            # Playwright has taken over the downloads.
            session.send("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(home / "Downloads")})
            yield browser
            # As a person closes it: what it has in memory yet is written.
            with contextlib.suppress(Exception):
                session.send("Browser.close")
        process.wait(60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Person:
    """What a person does on the page, from the login to the lock."""

    def __init__(self, page, gallery, hidden):
        self.page, self.gallery, self.hidden = page, gallery, hidden
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        self.previews = set()
        page.on("request", lambda request: "/api/preview/" in request.url and self.previews.add(request.url))

    def fetch(self, url):
        """A request of Playwright's own process, with the browser's cookie."""
        return self.page.context.request.get(url, headers={"X-Albumfs": "1"}, ignore_https_errors=True)

    def wait_for_details(self, url):
        """Waits until the server has looked at all photos: the page draws one anew when its details come later."""
        def are_known(album):
            found = self.fetch(f"{url}api/photos?album={album['id']}").json()
            return all(number > 0 for number in found["thumb"]) and all(found["width"])

        wait_until(lambda: all(map(are_known, self.fetch(f"{url}api/albums").json()["albums"])),
                   "the gallery does not show all photos")

    def take_previews(self):
        """Adds the pictures that the decoder made for the page to the needles."""
        assert self.previews
        for url in self.previews:
            self.hidden.add_picture("a preview", self.fetch(url).body())
        self.previews.clear()

    def log_in(self, url):
        self.page.goto(url)
        self.page.fill("input[type=password]", "wrong " + self.hidden.word("a wrong password"))
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".login-message")).to_have_text("Wrong password.")
        self.page.fill("input[type=password]", self.gallery.password)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("nav [aria-current]")

    def open_album(self, name):
        self.page.click(f".card:has(.card-name:text-is('{name}'))")
        expect(self.page.locator("h1 .crumb-here")).to_have_text(name)

    def menu(self, text):
        self.page.click(".top-bar [aria-haspopup=menu]")
        self.page.click(f"[role=menuitem]:text-matches('{text}')")

    def answer(self, text):
        self.page.fill("dialog input", text)
        self.page.click("dialog .main")
        self.page.wait_for_selector("dialog", state="detached")

    def look(self, albums, photos):
        page = self.page
        for album in albums:
            self.open_album(album)
            expect(page.locator(".tile img")).to_have_count(len(photos))
            page.click(".tile >> nth=0")
            for name in photos:
                expect(page.locator(".viewer-caption strong")).to_have_text(name)
                page.wait_for_selector(".slide:not([aria-hidden]) .preview")
                page.keyboard.press("o")
                page.wait_for_selector(".slide:not([aria-hidden]) .original")
                page.keyboard.press("ArrowRight")
            page.keyboard.press("i")
            self.take_previews()
            page.keyboard.press("Escape")
            page.go_back()
            page.wait_for_selector(".card")
        for number in (1, 2, 3, 0):
            page.click(f"nav button >> nth={number}")
            page.wait_for_selector(".tile img" if number else ".card img")

    def change(self, albums):
        """Makes, fills and renames an album, and moves a photo to where it searches."""
        page = self.page
        self.menu("New album")
        name = f"New {self.hidden.word('an album that was made')}"
        self.answer(name)
        self.open_album(name)
        files = [{"name": f"Up {self.hidden.word('an upload')}.png", "mimeType": "image/png", "buffer": noise()}
                 for _ in range(3)]
        for file in files:
            self.hidden.add_picture("an upload", file["buffer"])
        self.menu("Rename album")
        self.answer(f"Renamed {self.hidden.word('an album that was renamed')}")
        with page.expect_file_chooser() as chooser:
            page.click(".upload-button")
        chooser.value.set_files(files)
        page.click(".upload-buttons .main")
        expect(page.locator(".upload-panel h2")).to_have_text("All 3 files are saved")
        page.click(".upload-buttons .main")
        expect(page.locator(".tile img")).to_have_count(3)
        page.click(".tile >> nth=0", modifiers=["Control"])
        page.click(".selection-bar button[title=Move]")
        page.fill("dialog input[type=search]", albums[0].split()[1])
        page.click("dialog .album-option")
        page.click("dialog .main")
        expect(page.locator(".tile")).to_have_count(2)
        page.click(".tile >> nth=0", modifiers=["Control"])
        page.keyboard.press("Delete")
        # Before it is gone from the page, two tiles do not say that it came back.
        expect(page.locator(".tile")).to_have_count(1)
        page.click(".toast-button:text-is('Undo')")
        expect(page.locator(".tile")).to_have_count(2)

    def download(self, folder):
        """Several photos, as a zip file; the browser names what it saved, which is not a photo's name."""
        self.page.keyboard.press("Control+a")
        self.page.click(".selection-bar button[title=Download]")
        wait_until(lambda: list(folder.glob("*.zip")), "nothing was downloaded")
        self.page.keyboard.press("Escape")

    def lock(self):
        self.page.click(".lock")
        self.page.wait_for_selector("input[type=password]")


def use(gallery, home, hidden, certificate, control, later):
    albums, photos = fill(gallery, hidden)
    url = gallery.start("--certificate", str(certificate.file), "--key", str(certificate.key))
    with chromium(home, certificate) as browser:
        page = browser.contexts[0].pages[0]
        page.goto(control.url)
        page.wait_for_function("document.querySelector('img').naturalWidth > 0")
        person = Person(page, gallery, hidden)
        person.log_in(url)
        person.wait_for_details(url)
        person.look(albums, photos)
        person.change(albums)
        person.download(home / "Downloads")
        person.lock()
        # Chromium writes what it knows of pages some time later: first of the gallery, then of this page.
        browser.contexts[0].new_page().goto(later.url)
        written = Secrets()
        written.add_text("the title", later.word)
        wait_until(lambda: is_in_a_file(home, written), "Chromium writes nothing")
    gallery.stop()
    add_thumbnails(gallery, hidden)
    shutil.rmtree(home / "Downloads")


def main(programs):
    folder = Path(tempfile.mkdtemp(prefix="albumfs-test-profile-"))
    certificate = Certificate(folder)
    hidden, control, later = Secrets(), Keepable(certificate), Keepable(certificate)
    gallery = Gallery(programs, folder, hidden.word("the password"))
    home = folder / "browser"
    home.mkdir()
    try:
        use(gallery, home, hidden, certificate, control, later)
        tried = Secrets()
        tried.add_text("the title", control.word)
        tried.add_picture("the picture", control.picture)
        kept = {what for _, what in search(home, tried)}
        assert {"the title", "a piece of the picture"} <= kept, f"the search finds only {kept}"
        found = sorted(set(search(home, hidden)))
        for path, what in found:
            print(f"FAIL  {path} contains {what}")
        count = sum(path.is_file() for path in home.rglob("*"))
        assert count > 30, f"the browser left only {count} files"
        print(f"The browser keeps nothing of the gallery: {len(hidden.needles)} needles, {count} files.")
        return 1 if found else 0
    finally:
        gallery.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(chosen_programs(__doc__)))
