"""albumfs beside others with their files in an object storage, at a distance (distant.py).

Each round gives every peer a prefix of its own and two machines: the first one writes and unmounts, the second one,
which knows nothing, mounts and reads. The peers take turns within a round, at each distance. Requests are counted on
their way. What is read is compared with what was written.
"""
from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import os
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import content
import measuring
from distant import Network, Server, settle
from measuring import Failed, run
from prices import PROVIDERS, STORED, Provider, stating
from remote_peers import JUICEFS, LIMIT, Albumfs, Catalogs, Distant, Gocryptfs, JuiceFS, Rclone
from rounds import Bench, say
from workloads import THUMBNAIL, require, require_same_photos

ROUND_TRIPS = (20, 40)
GRID = 200
SMALL_FILES = 1000
# The most that the ratio of a row to the best peer is to be.
GOALS = {"copy": 0.5, "sent": 0.8, "mount": 0.3, "list": 0.1, "grid": 0.2, "read": 0.8, "untar": 0.2}
TITLES = {
    "copy": "copy {photos} photos in (close)", "sent": "… until all is in the bucket",
    "untar": "untar {files} small files", "untar-sent": "… until all is in the bucket",
    "mount": "mount on a second machine, cold", "list": "ls -lR after it",
    "grid": "{grid} thumbnails, cold", "read": "read all photos, cold",
    "many": "mount {many} files on a second machine, cold", "many-list": "ls -lR of these",
}


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
        for peer, programs in ((Rclone, ["rclone", "curl"]), (Gocryptfs, ["s3fs", "gocryptfs"]),
                               (JuiceFS, [str(JUICEFS), str(Catalogs.program), "redis-cli", "openssl"])):
            if absent := [program for program in programs if not shutil.which(program)]:
                self.missing.append(f"{peer.name}: {', '.join(absent)} is not installed")
            else:
                self.peers.append(peer)
        if options.peers:
            names = [name.strip().lower() for name in options.peers.split(",")]
            self.peers = [Albumfs, *(peer for peer in self.peers[1:] if peer.name.lower() in names)]
        self.cells: Cells = collections.defaultdict(Cell)

    def measure(self) -> None:
        sizes = (content.QUICK if self.options.quick else content.FULL).times(self.options.size, self.options.many)
        say("making files and pictures")
        # The large files of the other rows are not needed.
        files = 100 if self.options.quick else SMALL_FILES
        sizes = dataclasses.replace(sizes, stream=content.MIB, small=content.MIB, reads=1, files=files, large=())
        self.inputs = content.make_inputs(self.bench.top / "inputs", sizes, self.options.photos)
        self.make_thumbnails()
        with contextlib.ExitStack() as stack:
            server = Server(self.bench.folder / "server")
            stack.callback(server.end)
            self.networks = [Network(server.port)]
            if JuiceFS in self.peers:
                catalogs = Catalogs(self.bench.folder / "catalogs")
                stack.callback(catalogs.end)
                self.networks.append(Network(catalogs.port, note=None))
                JuiceFS.catalogs = f"127.0.0.1:{self.networks[1].port}"
            for turn in range(self.options.rounds):
                for trip in ROUND_TRIPS:
                    first = turn % len(self.peers)
                    for peer in self.peers[first:] + self.peers[:first]:
                        self.play(peer, turn, trip)
            if self.options.many:
                for peer in self.peers:
                    self.play_many(peer)

    @property
    def network(self) -> Network:
        """The one between the machines and the object storage."""
        return self.networks[0]

    def set_round_trip(self, milliseconds: float) -> None:
        for network in self.networks:
            network.set_round_trip(milliseconds)

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
            self.set_round_trip(0)
            first.make()
            self.set_round_trip(trip)
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
            self.set_round_trip(0)
            first.make()
            first.mount()
            run(["tar", "-xf", str(self.inputs.many), "-C", str(first.mount_point)], LIMIT)
            first.wait_until_sent()
            first.unmount()
            shutil.rmtree(first.folder, ignore_errors=True)
            self.set_round_trip(trip)
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
                if all(self.cells[key, trip, peer.name].median is None for peer in self.peers):
                    continue
                goal = GOALS.get(key)
                values = [of_cell(self.cells[key, trip, peer.name]) for peer in self.peers]
                lines.append([self.title(key), f"{trip} ms", *values, self.ratio(key, trip),
                              f"{goal:.2f}" if goal else ""])
        return "\n\n".join([table(lines), self.requests(), self.money()])

    def ratio(self, key: str, trip: int) -> str:
        """albumfs beside the best of the others, and in brackets the least and the most of single rounds."""
        own = self.cells[key, trip, Albumfs.name]
        others = [self.cells[key, trip, peer.name] for peer in self.peers if peer is not Albumfs]
        medians = [cell.median for cell in others if cell.median is not None]
        if own.median is None or not medians:
            return "–"
        samples = [cell.samples for cell in others if cell.samples]
        rounds = [mine / min(rest) for mine, *rest in zip(own.samples, *samples)]
        spread = f" ({min(rounds):.2f}–{max(rounds):.2f})" if len(rounds) > 1 else ""
        return f"{own.median / min(medians):.2f}{spread}"

    def requests(self) -> str:
        """How many requests each row takes."""
        lines = [["requests", *(peer.name for peer in self.peers)]]
        trip = ROUND_TRIPS[-1]
        for key in TITLES:
            cells = [self.cells[key, trip, peer.name] for peer in self.peers]
            if any(cell.requests for cell in cells):
                lines.append([self.title(key), *(of_requests(cell) for cell in cells)])
        return table(lines)

    def money(self) -> str:
        """What the requests cost for many more photos, if those take as many for each byte."""
        lines = [[f"dollars for the requests of {STORED / 1e9:.0f} GB", *(peer.name for peer in self.peers)]]
        for provider in PROVIDERS:
            for what, keys in (("write them once", ("copy", "sent")), ("read them once", ("read",))):
                lines.append([f"{provider.name}: {what}",
                              *(self.dollars(keys, peer.name, provider) for peer in self.peers)])
        return table(lines)

    def dollars(self, keys: tuple[str, ...], name: str, provider: Provider) -> str:
        cells = [self.cells[key, ROUND_TRIPS[-1], name] for key in keys]
        rounds = min(len(cell.samples) for cell in cells)
        if not rounds:
            return "–"
        cost = sum(count * provider.requests.get(kind, 0) / 1000
                   for cell in cells for kind, count in cell.requests.items())
        return f"{cost / rounds * STORED / self.inputs.photo_bytes:.2f}"

    def notes(self) -> str:
        """What to know of the tables."""
        lines = [f"Requests and money are those at {ROUND_TRIPS[-1]} ms; the money is that of "
                 f"{self.inputs.photo_bytes / 1e6:.0f} MB, so that requests of a mount weigh more than they would. "
                 f"{stating()}"]
        if JuiceFS in self.peers:
            lines.append("JuiceFS keeps its catalog in a Redis behind the same round trip, whose requests are not "
                         "counted and whose machine is not paid for.")
        lines += [f"Not measured: {reason}." for reason in self.missing]
        lines += [f"Failed: {name}, {trip} ms, {self.title(key)}: {': '.join(cell.failure.split(': ')[:2])}."
                  for (key, trip, name), cell in self.cells.items() if cell.failure]
        return " ".join(lines)

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
