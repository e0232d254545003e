"""albumfs beside others with their files in an object storage, at a distance (distant.py).

Each round gives every peer a prefix of its own and two machines: the first one writes and unmounts, the second one,
which knows nothing, mounts and reads. The peers take turns within a round, at each distance. Requests are counted on
their way. What is read is compared with what was written.
"""
from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import content
import measuring
from distant import BUCKET, KEY, SECRET, Network, Server, free_ports, put_folder, settle
from measuring import Failed, Process, clear_mount, guarded, is_mounted, run
from rounds import Bench, say
from workloads import THUMBNAIL, require, require_same_photos

ROUND_TRIPS = (20, 40)
GRID = 200
SMALL_FILES = 1000
LIMIT = 1800.0
# What Amazon S3 takes in us-east-1 for a thousand requests, in dollars, by the price list of this year.
PRICES, PRICES_OF = {"PUT": 0.005, "POST": 0.005, "LIST": 0.005, "GET": 0.0004, "HEAD": 0.0004}, "2025"
STORED = 500e9
# The most that the ratio of a row to the best peer is to be.
GOALS = {"copy": 0.5, "sent": 0.8, "mount": 0.3, "list": 0.1, "grid": 0.2, "read": 0.8, "untar": 0.2}
TITLES = {
    "copy": "copy {photos} photos in (close)", "sent": "… until all is in the bucket",
    "untar": "untar {files} small files", "untar-sent": "… until all is in the bucket",
    "mount": "mount on a second machine, cold", "list": "ls -lR after it",
    "grid": "{grid} thumbnails, cold", "read": "read all photos, cold",
    "many": "mount {many} files on a second machine, cold", "many-list": "ls -lR of these",
}


class Distant:
    """One peer on one machine: a home with its caches, and a mount point."""
    name = ""
    program = ""

    def __init__(self, folder: Path, prefix: str, endpoint: str) -> None:
        folder.mkdir(parents=True)
        self.folder, self.prefix, self.endpoint = folder, prefix, endpoint
        self.mount_point = folder / "mnt"
        self.mount_point.mkdir()
        self.daemons: list[Process] = []
        # What the caller has set for its own server is not for this one.
        own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self.environment = dict(
            own, HOME=str(folder), XDG_STATE_HOME=str(folder / "state"), XDG_RUNTIME_DIR=str(folder),
            XDG_CACHE_HOME=str(folder / "cache"), LC_ALL="C.UTF-8", AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET,
            AWS_ENDPOINT_URL=endpoint, RCLONE_CONFIG=str(folder / "rclone.conf"))

    def make(self) -> None:
        """Prepares the prefix, once."""

    def mount(self) -> None:
        raise NotImplementedError

    def wait_until_sent(self) -> None:
        raise NotImplementedError

    def unmount(self) -> None:
        self.unmount_all(self.mount_points())

    def unmount_all(self, points: list[Path]) -> None:
        # The upper one first; the lower one is busy until its daemon has ended.
        for point, daemon in zip(points, reversed(self.daemons)):
            run(["fusermount3", "-u", str(point)], LIMIT)
            with guarded(LIMIT, daemon):
                daemon.child.wait()
        self.daemons = []

    def mount_points(self) -> list[Path]:
        return [self.mount_point]

    @property
    def photos(self) -> Path:
        return self.mount_point / "Trip"

    @property
    def thumbnails(self) -> Path:
        return self.mount_point / "Thumb"

    def start(self, point: Path, *words: object) -> None:
        daemon = Process([str(word) for word in words], self.environment)
        self.daemons.append(daemon)
        with guarded(LIMIT, daemon):
            while not is_mounted(point):
                if daemon.has_ended():
                    raise Failed(f"mount of {self.name}: exit {daemon.child.returncode}: {daemon.message()}")
                time.sleep(0.005)

    def end(self) -> None:
        """Leaves nothing, whatever state it is in."""
        for daemon in self.daemons:
            daemon.kill()
        for point in self.mount_points():
            clear_mount(point)
        self.daemons = []


class Albumfs(Distant):
    name = "albumfs"

    @property
    def store(self) -> str:
        return f"s3://{BUCKET}/{self.prefix}"

    @property
    def password(self) -> Path:
        path = self.folder / "password"
        path.write_text("bench\n")
        return path

    def make(self) -> None:
        run([self.program, "init", "-q", "--chaff", "4M", "--password-file", str(self.password), self.store], LIMIT,
            environment=self.environment)

    def mount(self) -> None:
        # The recovery key needs no derivation, whose time has nothing to do with the distance.
        key = self.folder.parent / "albumfs-key"
        if not key.exists():
            run([self.program, "space", "recovery-key", "--password-file", str(self.password), self.store], LIMIT,
                environment=self.environment, stdout=key)
        self.start(self.mount_point, self.program, "mount", "-q", "--foreground", "--recovery-key", "--password-file",
                   key, self.store, self.mount_point)

    def wait_until_sent(self) -> None:
        run([self.program, "sync", "-q", str(self.mount_point)], LIMIT, environment=self.environment)

    @property
    def photos(self) -> Path:
        return super().photos / "Photo"

    @property
    def thumbnails(self) -> Path:
        return super().photos / "Thumb"


class Rclone(Distant):
    """rclone mount of a crypt remote, with a cache for what is written."""
    name, program = "rclone crypt", "rclone"

    def mount(self) -> None:
        words = ["rclone", "obscure", "bench"]
        secret = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        (self.folder / "rclone.conf").write_text(
            f"[s3]\ntype = s3\nprovider = Other\nendpoint = {self.endpoint}\naccess_key_id = {KEY}\n"
            f"secret_access_key = {SECRET}\nforce_path_style = true\n"
            f"[crypt]\ntype = crypt\nremote = s3:{BUCKET}/{self.prefix}\npassword = {secret}\n")
        self.control = f"127.0.0.1:{free_ports(1)[0]}"
        self.start(self.mount_point, "rclone", "mount", "crypt:", self.mount_point, "--vfs-cache-mode", "writes",
                   "--cache-dir", self.folder / "cache", "--rc", "--rc-no-auth", "--rc-addr", self.control)

    def wait_until_sent(self) -> None:
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            words = ["curl", "-s", "-X", "POST", f"http://{self.control}/vfs/stats"]
            answer = subprocess.run(words, stdout=subprocess.PIPE, text=True).stdout
            cache = json.loads(answer)["diskCache"]
            if cache["uploadsInProgress"] == cache["uploadsQueued"] == 0:
                return
            time.sleep(0.05)
        raise Failed("rclone has not sent everything")


class Gocryptfs(Distant):
    """gocryptfs over s3fs, where closing a file sends it."""
    name, program = "s3fs + gocryptfs", "s3fs"

    @property
    def lower(self) -> Path:
        return self.folder / "lower"

    def mount_points(self) -> list[Path]:
        return [self.mount_point, self.lower]

    def mount_lower(self) -> None:
        self.lower.mkdir(exist_ok=True)
        secret = self.folder / "s3fs-secret"
        secret.write_text(f"{KEY}:{SECRET}\n")
        secret.chmod(0o600)
        (self.folder / "password").write_text("bench\n")
        self.start(self.lower, "s3fs", f"{BUCKET}:/{self.prefix}", self.lower, "-f", "-o", f"url={self.endpoint}",
                   "-o", "use_path_request_style", "-o", f"passwd_file={secret}",
                   "-o", f"tmpdir={self.folder}")

    def make(self) -> None:
        put_folder(self.endpoint, self.prefix)
        self.mount_lower()
        run(["gocryptfs", "-init", "-q", "-scryptn", "10", "-passfile", str(self.folder / "password"), str(self.lower)],
            LIMIT)
        self.unmount_all([self.lower])

    def mount(self) -> None:
        self.mount_lower()
        self.start(self.mount_point, "gocryptfs", "-fg", "-q", "-passfile", self.folder / "password", self.lower,
                   self.mount_point)

    def wait_until_sent(self) -> None:
        run(["sync", "-f", str(self.mount_point)], LIMIT)


@dataclass
class Cell:
    samples: list[float] = field(default_factory=list)
    requests: collections.Counter[str] = field(default_factory=collections.Counter)
    failure: str = ""

    @property
    def median(self) -> float | None:
        return statistics.median(self.samples) if self.samples else None


Cells = dict[tuple[str, int, str], Cell]


class RemoteBench:
    def __init__(self, bench: Bench, options: argparse.Namespace) -> None:
        self.bench, self.options = bench, options
        Albumfs.program = str(options.albumfs)
        self.peers: list[type[Distant]] = [Albumfs]
        self.missing: list[str] = []
        for peer, programs in ((Rclone, ["rclone", "curl"]), (Gocryptfs, ["s3fs", "gocryptfs"])):
            if absent := [program for program in programs if not shutil.which(program)]:
                self.missing.append(f"{peer.name}: {', '.join(absent)} is not installed")
            else:
                self.peers.append(peer)
        self.missing.append("JuiceFS: Debian has no package of it")
        self.cells: Cells = collections.defaultdict(Cell)
        self.written = 0

    def measure(self) -> None:
        sizes = (content.QUICK if self.options.quick else content.FULL).times(self.options.size, self.options.many)
        say("making files and pictures")
        # The large files of the other rows are not needed.
        files = 100 if self.options.quick else SMALL_FILES
        sizes = sizes.__class__(stream=content.MIB, small=content.MIB, reads=1, files=files, photos=sizes.photos,
                                mounted=sizes.mounted)
        self.inputs = content.make_inputs(self.bench.top / "inputs", sizes, self.options.photos)
        self.make_thumbnails()
        server = Server(self.bench.folder / "server")
        try:
            self.network = Network(server.port)
            for turn in range(self.options.rounds):
                for trip in ROUND_TRIPS:
                    first = turn % len(self.peers)
                    for peer in self.peers[first:] + self.peers[:first]:
                        self.play(peer, turn, trip)
            if self.options.many:
                for peer in self.peers:
                    self.play_many(peer)
        finally:
            server.end()

    def make_thumbnails(self) -> None:
        """What the others show beside the photos, since they make none."""
        self.thumbnails = self.bench.top / "thumbnails"
        self.thumbnails.mkdir()
        run(["sh", "-c",
             f"cd {self.inputs.photos} && vipsthumbnail --size {THUMBNAIL} -o {self.thumbnails}/%s.jpg *"], LIMIT)

    def play(self, peer: type[Distant], turn: int, trip: int) -> None:
        say(f"round {turn + 1} of {self.options.rounds}, {trip} ms: {peer.name}")
        folder = self.bench.folder / f"{turn}-{trip}-{peer.__name__}"
        endpoint = f"http://127.0.0.1:{self.network.port}"
        first, second = (peer(folder / name, folder.name, endpoint) for name in ("first", "second"))
        try:
            self.network.set_round_trip(0)
            first.make()
            self.network.set_round_trip(trip)
            first.mount()
            self.write(first, trip)
            first.unmount()
            # Another machine: nothing of the first one's home, and nothing in memory.
            shutil.rmtree(first.folder, ignore_errors=True)
            self.drop()
            with self.timed("mount", trip, peer):
                second.mount()
                os.stat(second.photos)
            self.read(second, trip)
            second.unmount()
        except (Failed, OSError) as error:
            self.fail("mount", trip, peer, error)
        finally:
            for machine in (first, second):
                machine.end()
            shutil.rmtree(folder, ignore_errors=True)

    def play_many(self, peer: type[Distant]) -> None:
        """A mount of many files, on a machine that knows nothing of them, at the greater distance."""
        trip = ROUND_TRIPS[-1]
        say(f"{self.inputs.sizes.mounted:,} files: {peer.name}")
        folder = self.bench.folder / f"many-{peer.__name__}"
        endpoint = f"http://127.0.0.1:{self.network.port}"
        first, second = (peer(folder / name, folder.name, endpoint) for name in ("first", "second"))
        last = self.inputs.sizes.mounted - 1
        try:
            self.network.set_round_trip(0)
            first.make()
            first.mount()
            run(["tar", "-xf", str(self.inputs.many), "-C", str(first.mount_point)], LIMIT)
            first.wait_until_sent()
            first.unmount()
            shutil.rmtree(first.folder, ignore_errors=True)
            self.network.set_round_trip(trip)
            self.drop()
            with self.timed("many", trip, peer):
                second.mount()
                os.stat(second.mount_point / f"folder-{last // 500:04}/file-{last:07}")
            with self.timed("many-list", trip, peer):
                run(["ls", "-lR", str(second.mount_point)], LIMIT, stdout=self.bench.top / "listing")
            second.unmount()
        except (Failed, OSError) as error:
            self.fail("many", trip, peer, error)
        finally:
            for machine in (first, second):
                machine.end()
            shutil.rmtree(folder, ignore_errors=True)

    def fail(self, key: str, trip: int, peer: type[Distant], error: Exception) -> None:
        print(f"{peer.name}, {trip} ms, {key}: {error}", file=sys.stderr)
        self.cells[key, trip, peer.name].failure = str(error)

    def drop(self) -> None:
        settle()
        if measuring.can_drop_caches():
            measuring.drop_caches()

    @contextlib.contextmanager
    def timed(self, key: str, trip: int, peer: type[Distant], since: float | None = None) -> Iterator[None]:
        self.network.take_counts()
        start = since or time.perf_counter()
        cell = self.cells[key, trip, peer.name]
        try:
            yield
        except (Failed, OSError) as error:
            return self.fail(key, trip, peer, error)
        cell.samples.append(time.perf_counter() - start)
        cell.requests += self.network.take_counts()

    def write(self, machine: Distant, trip: int) -> None:
        peer = type(machine)
        os.mkdir(machine.mount_point / "Trip")
        start = time.perf_counter()
        with self.timed("copy", trip, peer):
            run(["cp", "-r", f"{self.inputs.photos}/.", str(machine.photos)], LIMIT, environment=machine.environment)
        with self.timed("sent", trip, peer, since=start):
            machine.wait_until_sent()
        if not isinstance(machine, Albumfs):
            run(["cp", "-r", str(self.thumbnails), str(machine.thumbnails)], LIMIT)
            machine.wait_until_sent()
        start = time.perf_counter()
        with self.timed("untar", trip, peer):
            run(["tar", "-xf", str(self.inputs.archive), "-C", str(machine.mount_point)], LIMIT)
        with self.timed("untar-sent", trip, peer, since=start):
            machine.wait_until_sent()
        self.written = self.inputs.photo_bytes

    def read(self, machine: Distant, trip: int) -> None:
        peer = type(machine)
        listing = self.bench.top / "listing"
        with self.timed("list", trip, peer):
            run(["ls", "-lR", str(machine.mount_point)], LIMIT, stdout=listing)
        names = sorted(os.listdir(machine.thumbnails))[:GRID]
        require(len(names) == min(GRID, self.inputs.photo_count), f"{len(names)} thumbnails")
        words = self.bench.top / "names"
        words.write_bytes(b"".join(os.fsencode(machine.thumbnails / name) + b"\0" for name in names))
        with self.timed("grid", trip, peer):
            run(["xargs", "-0", "-n", "10", "-P", "4", "-a", str(words), "cat"], LIMIT, stdout=listing)
        with self.timed("read", trip, peer):
            run(["sh", "-c", f"cat {machine.photos}/*"], LIMIT, stdout=self.bench.top / "all")
        (self.bench.top / "all").unlink()
        require_same_photos(machine.photos, self.inputs)

    # The tables.

    def title(self, key: str) -> str:
        sizes, photos = self.inputs.sizes, self.inputs.photo_count
        return TITLES[key].format(photos=photos, files=sizes.files, many=f"{sizes.mounted:,}", grid=min(GRID, photos))

    def text(self) -> str:
        lines = [["seconds", "round trip", *(peer.name for peer in self.peers), "albumfs / best", "goal"]]
        for key in TITLES:
            for trip in ROUND_TRIPS:
                medians = {peer.name: self.cells[key, trip, peer.name].median for peer in self.peers}
                if all(value is None for value in medians.values()):
                    continue
                others = [value for name, value in medians.items() if name != Albumfs.name and value is not None]
                own = medians[Albumfs.name]
                ratio = own / min(others) if own and others else None
                goal = GOALS.get(key)
                values = [of_cell(self.cells[key, trip, peer.name]) for peer in self.peers]
                lines.append([self.title(key), f"{trip} ms", *values, f"{ratio:.2f}" if ratio else "–",
                              f"{goal:.2f}" if goal else ""])
        return table(lines) + "\n\n" + self.requests()

    def requests(self) -> str:
        """How many requests each row takes, and what those of the copy would cost for 500 GB."""
        lines = [["requests", *(peer.name for peer in self.peers)]]
        trip = ROUND_TRIPS[-1]
        for key in TITLES:
            cells = [self.cells[key, trip, peer.name] for peer in self.peers]
            if any(cell.requests for cell in cells):
                lines.append([self.title(key), *(of_requests(cell) for cell in cells)])
        lines.append([f"dollars to write {STORED / 1e9:.0f} GB (prices of {PRICES_OF})",
                      *(self.dollars(("copy", "sent"), peer.name, trip) for peer in self.peers)])
        lines.append(["dollars to read it once, without traffic",
                      *(self.dollars(("read",), peer.name, trip) for peer in self.peers)])
        return table(lines)

    def dollars(self, keys: tuple[str, ...], name: str, trip: int) -> str:
        cells = [self.cells[key, trip, name] for key in keys]
        rounds = min(len(cell.samples) for cell in cells)
        if not rounds:
            return "–"
        cost = sum(count * PRICES.get(kind, 0) / 1000 for cell in cells for kind, count in cell.requests.items())
        return f"{cost / rounds * STORED / self.written:.2f}"

    def as_json(self) -> list[dict]:
        return [{"row": key, "milliseconds": trip, "peer": name, "samples": cell.samples,
                 "requests": dict(cell.requests), "failure": cell.failure}
                for (key, trip, name), cell in self.cells.items()]

    @property
    def has_failed(self) -> bool:
        return any(cell.failure for (_, _, name), cell in self.cells.items() if name == Albumfs.name)


def of_cell(cell: Cell) -> str:
    return "failed" if cell.failure else f"{cell.median:.2f}" if cell.median is not None else "–"


def of_requests(cell: Cell) -> str:
    rounds = max(1, len(cell.samples))
    return ", ".join(f"{count / rounds:.0f} {kind}" for kind, count in sorted(cell.requests.items())) or "none"


def table(lines: list[list[str]]) -> str:
    head = [f"| {' | '.join(lines[0])} |", f"|{'---|' * len(lines[0])}"]
    return "\n".join(head + [f"| {' | '.join(line)} |" for line in lines[1:]])
