"""What the provider of an object storage sees: every request with its time, its name, its size and its connection.

The stores here lie in a SeaweedFS on this machine, and are mounted from there. Their lives are those of lives.py, but
for what is changed in a directory alone: spaces are there from the beginning, and passwords and chaff stay as they are.
Nothing hides the number of spaces from the provider; the row says how well it tells.
"""
from __future__ import annotations

import bisect
import collections
import contextlib
import dataclasses
import json
import multiprocessing
import re
import signal
import sys
import time
import urllib.parse
from multiprocessing.connection import Connection
from pathlib import Path

import game
from driver import Failed, Store
from features import Features, statistics
from lives import Life, Plan

sys.path.append(str(Path(__file__).parents[1] / "Bench"))
import distant

# Each byte goes through a network that this process is.
LESS = 4

@dataclasses.dataclass(frozen=True)
class Request:
    time: float
    kind: str
    # Of the object, below the store; of a listing, the prefix.
    name: str
    # Bytes that are sent, or wanted of an object; 0 where the request names none.
    size: int


@dataclasses.dataclass(frozen=True)
class Log:
    """The requests for one store, and the truth about it."""
    seed: int
    pool: str
    spaces: int
    # When each mount began. In the log of a real provider, pauses and new connections show that; here, one session
    # follows the other at once.
    mounts: tuple[float, ...]
    requests: tuple[Request, ...] = ()


# ---- The storage ----

def serve(port: int, path: Path, ready: Connection) -> None:
    """Passes requests on to the server at this port, and writes each into a file."""
    with path.open("w", buffering=1) as log:
        def note(method: str, target: str, lines: list[str]) -> None:
            address = urllib.parse.urlsplit(target)
            query = urllib.parse.parse_qs(address.query)
            kind = distant.kind_of(method, target)
            name = query.get("prefix", [""])[0] if kind == "LIST" else urllib.parse.unquote(address.path).partition(
                f"/{distant.BUCKET}/")[2]
            first, _, last = distant.field(lines, "range").removeprefix("bytes=").partition("-")
            size = int(last) - int(first) + 1 if first and last else int(distant.field(lines, "content-length") or 0)
            log.write(json.dumps([time.time(), kind, name, size]) + "\n")

        ready.send(distant.Network(port, note).port)
        # Until the parent ends, which alone decides when.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        with contextlib.suppress(EOFError):
            ready.recv()


class Storage:
    """An object storage whose requests are written down."""

    def __init__(self, folder: Path) -> None:
        try:
            self.server = distant.Server(folder / "server")
        except distant.Failed as failure:
            raise Failed(str(failure)) from None
        self.log = folder / "requests"
        ours, theirs = multiprocessing.Pipe()
        self.network = multiprocessing.Process(target=serve, args=(self.server.port, self.log, theirs))
        self.network.start()
        theirs.close()
        self.pipe = ours
        self.endpoint = f"http://127.0.0.1:{ours.recv()}"

    def end(self) -> None:
        self.pipe.close()
        self.network.join(30)
        self.network.kill()
        self.server.end()

    def requests(self, prefix: str) -> tuple[Request, ...]:
        found = []
        for line in self.log.read_text().splitlines():
            moment, kind, name, size = json.loads(line)
            if name.startswith(f"{prefix}/"):
                found.append(Request(moment, kind, name.removeprefix(f"{prefix}/"), size))
        return tuple(found)


class RemoteStore(Store):
    """A store that is made in a directory, and then lies in the storage."""

    def __init__(self, folder: Path, albumfs: Path, storage: Storage) -> None:
        super().__init__(folder, albumfs)
        self.address = f"s3://{distant.BUCKET}/{folder.name}"
        self.mounts: list[float] = []
        for name in [name for name in self.environment if name.startswith("AWS_")]:
            del self.environment[name]
        self.environment |= {"AWS_ACCESS_KEY_ID": distant.KEY, "AWS_SECRET_ACCESS_KEY": distant.SECRET,
                             "AWS_ENDPOINT_URL": storage.endpoint}

    def send(self) -> None:
        self.call("copy", "-q", str(self.path), self.address)

    @property
    def mounted(self) -> str:
        return self.address

    def session(self, password: str, grace: int, is_killed: bool) -> contextlib.AbstractContextManager[Path]:
        self.mounts.append(time.time())
        return super().session(password, grace, is_killed)


def make_log(plan: Plan, folder: Path, albumfs: Path, photos: list[Path], storage: Storage) -> Log:
    """Runs one life in the storage, with less content. The requests are not in the log yet."""
    plan = dataclasses.replace(plan, content=tuple(size // LESS for size in plan.content))
    store = RemoteStore(folder, albumfs, storage)
    life = Life(plan, store, photos, has_disk=False)
    life.act(life.init)
    for space in range(1, plan.spaces):
        life.step("add", space)
    store.send()
    for what, space in plan.steps:
        if what == "use":
            life.use(space)
    return Log(plan.seed, plan.pool, plan.spaces, tuple(store.mounts))


# ---- The observer ----

def sessions(log: Log) -> list[list[Request]]:
    """The requests of each mount. Copying the store into the storage is not among them."""
    found: list[list[Request]] = [[] for _ in log.mounts]
    for request in log.requests:
        if place := bisect.bisect(log.mounts, request.time):
            found[place - 1].append(request)
    return [some for some in found if some]


def is_segment(request: Request) -> bool:
    return request.name.startswith("segments/")


def touched(session: list[Request], kinds: tuple[str, ...] = ("GET", "PUT", "DELETE")) -> set[str]:
    """The segments that a session loads, saves or removes."""
    return {one.name for one in session if one.kind in kinds and is_segment(one)}


def groups(sets: list[set[str]]) -> list[int]:
    """The sizes of the groups of sessions that share a segment with another one of the group."""
    joined: list[tuple[set[str], int]] = []
    for names in sets:
        mine, count, rest = set(names), 1, []
        for others, number in joined:
            if mine & others:
                mine |= others
                count += number
            else:
                rest.append((others, number))
        joined = [*rest, (mine, count)]
    return sorted((count for _, count in joined), reverse=True)


def seen(log: Log) -> Features:
    """Knows nothing of what segments are for."""
    mounts = sessions(log)
    kinds = collections.Counter(one.kind for one in log.requests)
    features: Features = {f"requests of kind {kind}": kinds[kind] for kind in ("GET", "PUT", "HEAD", "LIST", "DELETE")}
    shapes = {(one.kind, re.sub("[0-9a-f]{2,}", "#", one.name)) for one in log.requests}
    features["kinds of names"] = len(shapes)
    features["sizes of PUT"] = len({one.size for one in log.requests if one.kind == "PUT"})
    for kind in ("GET", "PUT"):
        features[f"bytes of {kind}"] = sum(one.size for one in log.requests if one.kind == kind)
        features[f"objects of {kind}"] = len({one.name for one in log.requests if one.kind == kind})
        features |= statistics(f"size of {kind}", (one.size for one in log.requests if one.kind == kind))
        features |= statistics(f"{kind} a session", (sum(one.kind == kind for one in mount) for mount in mounts))
    features["sessions"] = len(mounts)
    features |= statistics("length of a session", (mount[-1].time - mount[0].time for mount in mounts))
    features |= statistics("requests before the first segment", (
        next((place for place, one in enumerate(mount) if is_segment(one)), len(mount)) for mount in mounts))
    sets = [touched(mount) for mount in mounts]
    features |= statistics("shared with the session before", (
        len(now & before) / max(1, len(now)) for now, before in zip((touched(mount, ("GET",)) for mount in mounts[1:]),
                                                                    sets)))
    counted = groups(sets)
    features |= {"groups of sessions": len(counted), "share of the largest group": max(counted, default=0)
                 / max(1, len(mounts))}
    return features


def play(logs: list[Log], seed: int) -> list[game.Verdict]:
    """The row of the table, if there are stores enough."""
    ones, more = ([seen(log) for log in logs if (log.pool == "one") == is_one] for is_one in (True, False))
    if min(len(ones), len(more)) < 5:
        return []
    return [game.play("the provider's log of an object storage", ones, more, seed, is_quick=False)]


# ---- What the self-test plants ----

def planted(log: Log) -> Log:
    """A leak: one session asks once for an object that no store has."""
    places = [place for place, one in enumerate(log.requests) if one.name == "keys"]
    place = places[log.seed % len(places)]
    again = dataclasses.replace(log.requests[place], kind="HEAD", name="keys.spaces")
    return dataclasses.replace(log, requests=(*log.requests[:place + 1], again, *log.requests[place + 1:]))


def self_test(ones: list[Log], least: int, seed: int) -> list[str]:
    """A sentence for what the game does not find in the logs of stores with one space, and for what it finds there
    without reason."""
    if len(ones) < least:
        return [f"self-test: too few logs of stores with one space to find a leak: {len(ones)}"]
    plain = [seen(log) for log in ones]
    problems = []
    found = game.play("the provider's log", plain, [seen(planted(log)) for log in ones], seed, is_quick=True)
    if not game.is_broken(found):
        problems.append(f"self-test: a request more in the logs of {len(ones)} stores is not found: "
                        f"AUC {found.classifier.auc:.2f}, p = {found.classifier.p:.1g}")
    # None in stores of one kind: what it finds there would say nothing.
    half = len(plain) // 2
    if sentence := game.is_broken(game.play("halves", plain[:half], plain[half:], seed, is_quick=True)):
        problems.append(f"self-test: two halves of the logs of stores with one space are told apart: {sentence}")
    return problems
