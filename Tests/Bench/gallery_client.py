"""Starts a gallery on a store of the benchmark, and speaks to it as the page does."""
from __future__ import annotations

import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from measuring import Failed, Process, peak_bytes, processor_seconds, run
from peers import PASSWORD, Store

# As many files as the page sends at once.
AT_ONCE = 3
START_LIMIT = 60.0
# The certificate is the server's own.
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname, CONTEXT.verify_mode = False, ssl.CERT_NONE


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gallery:
    """`albumfs serve` on a mounted store, and one session with a page that stays open. It ends with the block."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}/"
        self.cookie = ""
        self.is_over = threading.Event()
        self.process = Process([store.peer.program, "serve", str(store.path), "--port", str(self.port)],
                               store.environment)

    def __enter__(self) -> Gallery:
        try:
            end = time.monotonic() + START_LIMIT
            while not self.is_listening():
                if self.process.has_ended():
                    raise Failed(f"albumfs serve: exit {self.process.child.returncode}: {self.process.message()}")
                if time.monotonic() > end:
                    raise Failed("the gallery does not listen")
                time.sleep(0.05)
            self.ask("POST", "/api/login", {"password": PASSWORD})
            threading.Thread(target=self.stay_open, daemon=True).start()
            return self
        except BaseException:
            self.process.kill()
            raise

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        if not self.process.has_ended():
            os.kill(self.process.pid, signal.SIGTERM)
        try:
            self.process.child.wait(START_LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def is_listening(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    # Requests

    def ask(self, method: str, path: str, body: object = None) -> dict:
        """One request, with JSON or with bytes; returns the JSON of its reply."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=CONTEXT, timeout=300)
        try:
            sent = json.dumps(body or {}) if method == "POST" else body
            connection.request(method, path, sent, self.headers())
            reply = connection.getresponse()
            found = json.loads(reply.read())
            if reply.status >= 400:
                raise Failed(f"the gallery says {reply.status} {found.get('error')}")
            for field in reply.headers.get_all("Set-Cookie") or []:
                self.cookie = field.partition(";")[0]
            return found
        finally:
            connection.close()

    def headers(self) -> dict[str, str]:
        return {"X-Albumfs": "1", "Origin": self.url.rstrip("/"), "Cookie": self.cookie}

    def stay_open(self) -> None:
        """Says each 20 s that the page is open, as a page does; the server locks a session without one."""
        while not self.is_over.wait(20):
            with contextlib.suppress(Failed, OSError):
                self.ask("POST", "/api/alive")

    def albums(self) -> dict[str, dict]:
        return {album["name"]: album for album in self.ask("GET", "/api/albums")["albums"]}

    def photos(self, name: str) -> list[str]:
        """The ids of the photos of an album; all of them must have thumbnails."""
        found = self.ask("GET", f"/api/photos?album={self.albums()[name]['id']}")
        if any(number <= 0 for number in found["thumb"]):
            raise Failed("a photo has no thumbnail")
        return found["id"]

    def wait_for(self, counts: dict[str, int]) -> None:
        """Waits until the gallery shows all photos with their details, so that no row contains that work."""
        end = time.monotonic() + 300
        while time.monotonic() < end:
            found = self.albums()
            if all(found[name]["photos"] == count for name, count in counts.items()) and all(
                    all(self.ask("GET", f"/api/photos?album={found[name]['id']}")["width"]) for name in counts):
                return
            time.sleep(1)
        raise Failed("the gallery does not show all photos")

    # The process

    def peak_bytes(self) -> int:
        """The most memory of the server itself."""
        return peak_bytes(self.server())

    def processor_seconds(self) -> float:
        return processor_seconds(self.server())

    def server(self) -> int:
        """The process of the server: `albumfs serve` becomes it, or starts it."""
        for pid in [self.process.pid, *children(self.process.pid)]:
            if Path(f"/proc/{pid}/comm").read_text().startswith("albumfs-gallery"):
                return pid
        raise Failed("the server's process is not there")


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return found


def send_files(gallery: Gallery, album: str, folder: Path, limit: float) -> float:
    """Uploads the files of a folder into a new album; returns the seconds until all are saved.

    Three files go at once, each in slices over HTTP/2, as from the page. A file is one slice again and again, and a
    shorter rest, because h2load sends them.
    """
    target = gallery.ask("POST", "/api/albums", {"parent": None, "name": album})["album"]["id"]
    size = gallery.ask("GET", "/api/session")["sliceSize"]
    files = sorted(folder.iterdir())
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        for path in files:
            with path.open("rb") as file:
                (Path(work) / path.name).write_bytes(file.read(size))

        def send(path: Path) -> None:
            about = path.stat()
            upload = gallery.ask("POST", "/api/uploads", {
                "album": target, "folders": [], "name": path.name, "size": about.st_size,
                "modified": int(about.st_mtime)})["upload"]
            sent = send_slices(gallery, upload, Path(work) / path.name, about.st_size // size, limit)
            if sent < about.st_size:
                with path.open("rb") as file:
                    file.seek(sent)
                    gallery.ask("PUT", f"/api/uploads/{upload}?offset={sent}", file.read())
            state = gallery.ask("POST", f"/api/uploads/{upload}/finish")["state"]
            if state != "saved":
                raise Failed(f"the gallery says {state} of a new file")

        start = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(send, files))
        return time.perf_counter() - start


def send_slices(gallery: Gallery, upload: str, part: Path, count: int, limit: float) -> int:
    """Sends a slice so many times, one behind the other, over one connection; returns the bytes."""
    size = part.stat().st_size
    addresses = [f"{gallery.url}api/uploads/{upload}?offset={number * size}" for number in range(count)]
    h2load(gallery, addresses, limit, "--clients=1", "--max-concurrent-streams=1", f"--data={part}",
           "--header=:method: PUT")
    return count * size


def h2load(gallery: Gallery, addresses: list[str], limit: float, *options: str) -> str:
    """Asks for all addresses over HTTP/2; returns what h2load reports. Fails unless all replies are good."""
    if not shutil.which("h2load"):
        raise Failed("h2load is missing; scripts/dependencies --bench installs nghttp2-client")
    # The cookie can be seen by others meanwhile; this session has nothing to hide.
    headers = [f"--header={name}: {value}" for name, value in gallery.headers().items()]
    with tempfile.TemporaryDirectory() as folder:
        listing, found = Path(folder) / "addresses", Path(folder) / "found"
        listing.write_text("\n".join(addresses) + "\n")
        run(["h2load", f"--requests={len(addresses)}", f"--input-file={listing}", *options, *headers], limit,
            stdout=found)
        text = found.read_text()
    succeeded = re.search(r"status codes: (\d+) 2xx", text)
    if not succeeded or int(succeeded[1]) != len(addresses):
        raise Failed(f"{succeeded[1] if succeeded else 'no'} good replies to {len(addresses)} requests")
    return text
