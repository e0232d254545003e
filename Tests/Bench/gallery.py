"""The rows of the gallery: thumbnails over HTTP/2, the page in Chromium, and uploads beside `cp`.

    scripts/bench --gallery                  full sizes; most of the time goes into the thumbnails
    scripts/bench --gallery --quick          small sizes
    scripts/bench --gallery --many 20000     so many photos in the large space

One store has an album of photos whose thumbnails are as large as those of a camera's photos. A second store has many
tiny photos in albums of 5,000. The gallery of each runs beside its daemon, so that no row derives a key or mounts.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import re
import resource
import shutil
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import content
from content import MIB
from gallery_client import Gallery, h2load, send_files
from measuring import Failed, guarded, run
from peers import Peer, Store, albumfs
from rounds import Bench, say
from workloads import require, require_equal

# The longer edge in pixels: that of the large album gives thumbnails of full size.
LARGE, TINY = 768, 64
IN_ALBUM = 5000
# Bytes of each file that is uploaded: as long as a film of some seconds.
FILE, SLICE = 64 * MIB, 8 * MIB
# As many as the page asks for in one request.
BATCH = 40
ALBUM = "Large album"
# Seconds in which one album is filled, and in which all thumbnails are made.
FILL_LIMIT = 3600.0


@dataclass(frozen=True)
class Sizes:
    thumbnails: int
    album: int
    many: int
    upload: int

    def times(self, factor: float, many: int | None) -> Sizes:
        counts = (max(BATCH, round(factor * value)) for value in (self.thumbnails, self.album, self.many))
        sizes = Sizes(*counts, max(1, round(factor * self.upload / MIB)) * MIB)
        return dataclasses.replace(sizes, many=many) if many else sizes


FULL = Sizes(thumbnails=10_000, album=20_000, many=100_000, upload=1024 * MIB)
QUICK = Sizes(thumbnails=400, album=600, many=3000, upload=64 * MIB)


@dataclass(frozen=True)
class Row:
    """`goal` is the most that the value may be, or the least where more is better."""
    title: str
    unit: str
    goal: float | None = None
    is_least: bool = False

    def judge(self, value: float) -> str:
        if self.goal is None:
            return ""
        is_met = value >= self.goal if self.is_least else value <= self.goal
        return f"{'at least' if self.is_least else 'at most'} {self.goal:,g}: {'yes' if is_met else 'no'}"


ROWS = {
    "thumbs": Row("{thumbnails} thumbnails, {batch} in each request", "a second", 5000, True),
    "thumbs-single": Row("{thumbnails} thumbnails, one in each request", "a second"),
    "thumb-bytes": Row("bytes of such a thumbnail", "bytes"),
    "login": Row("from Enter to the reply of the login", "ms"),
    "first-row": Row("from there to the first row of an album of {album} photos", "ms", 500),
    "open-many": Row("longest task while {many} photos in one view load", "ms"),
    "scroll": Row("longest task while these are scrolled from end to end", "ms", 50),
    "elements": Row("most elements of the page meanwhile", ""),
    "heap": Row("most memory of the page's scripts meanwhile", "MiB"),
    "page-memory": Row("most memory of the page's process", "MiB"),
    "server-album": Row("most memory of the server, {album} photos", "MiB"),
    "server-many": Row("most memory of the server, {many} photos", "MiB", 100),
    "copy": Row("cp {upload} into the mount, until it is on disk", "s"),
    "copy-cost": Row("processor time of cp and daemon for that", "s"),
    "upload": Row("upload {upload} until all of it is saved", "s"),
    "upload-cost": Row("processor time of server and daemon for that, without the client's", "s"),
    "upload-speed": Row("speed of the upload beside cp", "times", 0.7, True),
}


ROWS_OF_ALBUM = ("thumbs", "thumbs-single", "thumb-bytes", "login", "first-row", "server-album", "copy", "copy-cost",
                 "upload", "upload-cost", "upload-speed")


@dataclass
class Results:
    sizes: Sizes
    samples: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, value: float) -> None:
        self.samples.setdefault(key, []).append(value)

    @contextlib.contextmanager
    def row(self, *keys: str) -> Iterator[None]:
        """A failure costs what these rows have not measured yet, and the run goes on."""
        try:
            yield
        except (Failed, OSError, KeyError, ValueError) as error:
            for key in keys:
                self.failures.setdefault(key, f"{type(error).__name__}: {error}")

    def title(self, key: str) -> str:
        sizes = self.sizes
        return ROWS[key].title.format(thumbnails=f"{sizes.thumbnails:,}", album=f"{sizes.album:,}", batch=BATCH,
                                      many=f"{sizes.many:,}", upload=f"{sizes.upload / MIB:.0f} MiB")

    def text(self) -> str:
        lines = []
        for key, row in ROWS.items():
            if key in self.samples:
                value = statistics.median(self.samples[key])
                shown = f"{value:.2f}" if value < 10 else f"{value:,.0f}"
                mark = "*" if key in self.failures else ""
                lines.append((self.title(key), shown + mark, row.unit, row.judge(value)))
            elif key in self.failures:
                lines.append((self.title(key), "failed", "", ""))
        widths = [max((len(line[place]) for line in lines), default=0) for place in range(3)]
        table = [f"{title.ljust(widths[0])}  {value.rjust(widths[1])} {unit.ljust(widths[2])}  {goal}".rstrip()
                 for title, value, unit, goal in lines]
        return "\n".join(table + [f"* {self.title(key)}: {reason}" for key, reason in self.failures.items()])

    def as_json(self) -> list[dict]:
        return [{"key": key, "title": self.title(key), "unit": row.unit, "goal": row.goal,
                 "samples": self.samples.get(key, []), "failure": self.failures.get(key)}
                for key, row in ROWS.items() if key in self.samples or key in self.failures]


class GalleryBench:
    """A run: the stores are those of `Bench`, which also removes what is left."""

    def __init__(self, bench: Bench, options: argparse.Namespace) -> None:
        self.bench = bench
        self.options = options
        self.peer: Peer = albumfs("albumfs", options.albumfs, "--transport", "device")
        self.results = Results((QUICK if options.quick else FULL).times(options.size, options.many))

    def measure(self) -> Results:
        with self.results.row(*ROWS_OF_ALBUM):
            self.measure_album()
        with self.results.row(*(key for key in ROWS if key not in ROWS_OF_ALBUM)):
            self.measure_many()
        return self.results

    def measure_album(self) -> None:
        sizes = self.results.sizes
        say(f"pictures, and an album of {sizes.album:,} photos")
        with self.space("album", LARGE, {ALBUM: sizes.album}) as (store, gallery):
            with self.results.row("thumbs", "thumbs-single", "thumb-bytes"):
                self.fetch_thumbnails(gallery)
            with self.results.row("login", "first-row"):
                for turn in range(self.options.rounds):
                    say(f"the first row, round {turn + 1}")
                    self.put_page(gallery, store, "first-row", ALBUM)
            self.put_memory("server-album", gallery)
            with self.results.row("copy", "copy-cost", "upload", "upload-cost", "upload-speed"):
                for turn in range(self.options.rounds):
                    say(f"upload, round {turn + 1}")
                    self.upload(gallery, store, turn)

    def measure_many(self) -> None:
        sizes = self.results.sizes
        say(f"{sizes.many:,} photos")
        albums = {f"Album {number // IN_ALBUM + 1}": min(IN_ALBUM, sizes.many - number)
                  for number in range(0, sizes.many, IN_ALBUM)}
        with self.space("many", TINY, albums) as (store, gallery):
            with self.results.row("open-many", "scroll", "elements", "heap", "page-memory"):
                say(f"scrolling through {sizes.many:,} photos")
                self.put_page(gallery, store, "scroll")
            self.put_memory("server-many", gallery)

    # Spaces

    @contextlib.contextmanager
    def space(self, name: str, edge: int, albums: dict[str, int]) -> Iterator[tuple[Store, Gallery]]:
        """A mounted space with so many photos in each album, and a gallery that shows it."""
        store = self.bench.make_store(self.peer, name)
        try:
            store.mount()
            assert store.daemon
            pictures = small_pictures(self.bench.top / f"pictures-{name}", edge, 4 if self.options.quick else content.PICTURES)
            for album, count in albums.items():
                with guarded(FILL_LIMIT, store.daemon):
                    fill(store.mount_point / album, pictures, count)
            run([self.peer.program, "sync", str(store.mount_point)], FILL_LIMIT, store.daemon, store.environment)
            with Gallery(store) as gallery:
                gallery.wait_for(albums)
                yield store, gallery
        finally:
            # Nothing of it is read again, so it need not be unmounted in order.
            self.bench.remove(store)

    # Rows

    def fetch_thumbnails(self, gallery: Gallery) -> None:
        """The first run of each fills the caches."""
        count = self.results.sizes.thumbnails
        ids = gallery.photos(ALBUM)[:count]
        single = [f"{gallery.url}api/thumb/{id}" for id in ids]
        batches = [f"{gallery.url}api/thumbs?ids={','.join(ids[start:start + BATCH])}"
                   for start in range(0, count, BATCH)]
        for key, addresses in (("thumbs", batches), ("thumbs-single", single)):
            for turn in range(self.options.rounds + 1):
                say(f"{key}, round {turn}")
                seconds, size = self.fetch(gallery, addresses)
                if turn:
                    self.results.put(key, count / seconds)
            if key == "thumbs-single":
                self.results.put("thumb-bytes", size / count)

    def fetch(self, gallery: Gallery, addresses: list[str]) -> tuple[float, float]:
        """Fetches all addresses with h2load; returns the seconds, and the bytes of the bodies."""
        text = h2load(gallery, addresses, self.options.limit, "--clients=2", "--max-concurrent-streams=16")
        taken = re.search(r"finished in ([\d.]+)(us|ms|s)", text)
        size = re.search(r"traffic: .*\((\d+)\) data", text)
        require(bool(taken and size), "h2load says something else")
        assert taken and size
        return float(taken[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1}[taken[2]], float(size[1])

    def put_page(self, gallery: Gallery, store: Store, task: str, *names: str) -> None:
        """Uses the page in Chromium, in a process of Playwright's own Python; see page_times.py."""
        found = self.bench.top / "page"
        script = Path(__file__).parent / "page_times.py"
        python = self.options.playwright
        run([str(python), "-B", str(script), task, gallery.url, str(self.results.sizes.many), *names], 600,
            environment=store.environment, stdin=store.password, stdout=found)
        for key, value in json.loads(found.read_text()).items():
            self.results.put(key, value)

    def put_memory(self, key: str, gallery: Gallery) -> None:
        with self.results.row(key):
            self.results.put(key, gallery.peak_bytes() / MIB)

    def upload(self, gallery: Gallery, store: Store, turn: int) -> None:
        """The same new bytes by `cp` and by upload, in the other order every second time."""
        folder = self.bench.top / "upload"
        folder.mkdir()
        count = max(3, self.results.sizes.upload // FILE)
        for number in range(count):
            write_slices(folder / f"film-{number:02}.bin", max(1, self.results.sizes.upload // count // SLICE), number)
        try:
            if turn % 2 == 0:
                self.copy(store, folder, turn)
                self.send(gallery, store, folder, turn)
            else:
                self.send(gallery, store, folder, turn)
                self.copy(store, folder, turn)
            taken = self.results.samples
            self.results.put("upload-speed", taken["copy"][-1] / taken["upload"][-1])
        finally:
            shutil.rmtree(folder)

    def copy(self, store: Store, folder: Path, turn: int) -> None:
        assert store.daemon
        album = store.mount_point / f"Copied {turn}"
        album.mkdir()
        before = store.daemon.processor_seconds() + children_seconds()
        start = time.perf_counter()
        run(["cp", "-r", f"{folder}/.", str(album / "Photo")], self.options.limit, store.daemon)
        run(["sync", "-f", str(album)], self.options.limit, store.daemon)
        self.results.put("copy", time.perf_counter() - start)
        self.results.put("copy-cost", store.daemon.processor_seconds() + children_seconds() - before)
        self.compare_and_remove(store, album, folder)

    def send(self, gallery: Gallery, store: Store, folder: Path, turn: int) -> None:
        assert store.daemon
        name = f"Uploaded {turn}"
        before = store.daemon.processor_seconds() + gallery.processor_seconds()
        self.results.put("upload", send_files(gallery, name, folder, self.options.limit))
        self.results.put("upload-cost", store.daemon.processor_seconds() + gallery.processor_seconds() - before)
        self.compare_and_remove(store, store.mount_point / name, folder)

    def compare_and_remove(self, store: Store, album: Path, folder: Path) -> None:
        assert store.daemon
        with guarded(4 * self.options.limit, store.daemon):
            for path in folder.iterdir():
                require_equal(album / "Photo" / path.name, path)
            shutil.rmtree(album)


def children_seconds() -> float:
    """The processor time of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_slices(path: Path, count: int, number: int) -> None:
    """Writes a slice of random bytes so many times, for `send_files`, and a rest of another length for each number: for
    files of one length, a gallery looks whether it has them already."""
    part = os.urandom(SLICE)
    path.write_bytes(part * count + part[:number * 4096])


def small_pictures(folder: Path, edge: int, count: int) -> list[bytes]:
    """Different pictures with this longer edge, as JPEG."""
    folder.mkdir()
    pictures = []
    for number in range(count):
        large, small = folder / "large.jpg", folder / "small.jpg"
        large.write_bytes(content.make_picture(folder, number))
        run(["vipsthumbnail", str(large), "--size", str(edge), "-o", f"{small}[Q=85]"], limit=60)
        pictures.append(small.read_bytes())
    shutil.rmtree(folder)
    return pictures


def fill(album: Path, pictures: list[bytes], count: int) -> None:
    album.mkdir()
    for number in range(count):
        data = content.with_comment(pictures[number % len(pictures)], f"{album.name} {number}")
        (album / "Photo" / f"IMG_{number:05}.jpg").write_bytes(data)
