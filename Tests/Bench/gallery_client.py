"""Starts a gallery on a store of the benchmark, and speaks to it as the page does."""
from __future__ import annotations

import concurrent.futures
import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

from measuring import Failed, Process, peak_bytes, run
from peers import PASSWORD, Store

# As many files as the page sends at once.
AT_ONCE = 3
START_LIMIT = 60.0


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
        """One request; returns the JSON of its reply."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=300)
        try:
            connection.request(method, path, json.dumps(body or {}) if method == "POST" else None, self.headers())
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
        """The most memory of the server itself: `albumfs serve` becomes it, or starts it."""
        peak = 0
        for pid in [self.process.pid, *children(self.process.pid)]:
            if Path(f"/proc/{pid}/comm").read_text().startswith("albumfs-gallery"):
                peak = max(peak, peak_bytes(pid))
        if not peak:
            raise Failed("the server's process is not there")
        return peak


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return found


def send_files(gallery: Gallery, album: str, folder: Path, slices: Path, limit: float) -> float:
    """Uploads the files of a folder into a new album; returns the seconds until all are saved.

    curl sends the slices over HTTP/2, one after the other for each file, and three files at once, as the page does.
    """
    size = gallery.ask("GET", "/api/session")["sliceSize"]
    target = gallery.ask("POST", "/api/albums", {"parent": None, "name": album})["album"]["id"]
    slices.mkdir()
    try:
        files = sorted(folder.iterdir())
        for path in files:
            run(["split", "-b", str(size), "-d", "-a", "6", str(path), str(slices / f"{path.name}.")], limit)

        def send(path: Path) -> None:
            about = path.stat()
            begun = gallery.ask("POST", "/api/uploads", {
                "album": target, "folders": [], "name": path.name, "size": about.st_size,
                "modified": int(about.st_mtime)})
            send_slices(gallery, begun["upload"], sorted(slices.glob(f"{path.name}.*")), limit)
            state = gallery.ask("POST", f"/api/uploads/{begun['upload']}/finish")["state"]
            if state != "saved":
                raise Failed(f"the gallery says {state} of a new file")

        start = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(send, files))
        return time.perf_counter() - start
    finally:
        for path in slices.iterdir():
            path.unlink()
        slices.rmdir()


def send_slices(gallery: Gallery, upload: str, parts: list[Path], limit: float) -> None:
    """Runs one curl on one connection. Its orders come in a file, so that no argument has the cookie."""
    orders, offset = [], 0
    for part in parts:
        headers = [f'header = "{name}: {value}"' for name, value in gallery.headers().items()]
        orders.append("\n".join([
            f'url = "{gallery.url}api/uploads/{upload}?offset={offset}"', f'upload-file = "{part}"', *headers,
            'output = "/dev/null"', "insecure", "http2", "fail", "silent", "show-error"]))
        offset += part.stat().st_size
    config = parts[0].with_suffix(".curl")
    config.write_text("\nnext\n".join(orders) + "\n")
    run(["curl", "--config", str(config)], limit)
    config.unlink()
