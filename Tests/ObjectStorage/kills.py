"""Kills whatever takes part in a mount of a bucket, at random moments, and compares after each kill.

    kills.py --programs DIR [--minutes N] [--seed N]

Two machines (homes of their own) take turns with one space in a SeaweedFS of its own. One works: it creates, extends,
replaces, renames and removes files. At a random moment SIGKILL hits the daemon, the programs that speak to the server,
the server, a mount, an unmount or a repair. Then:

- The bucket, as another machine sees it, has a state that was, with everything that `sync` said was in it.
- The same machine, mounting again, has every operation that had ended.
- If the other machine has taken the space over, the first one is refused until a repair; after that, what it had not
  sent is in `Recovered`.

Prints the seed, and fails at the first difference.
"""
from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parents[1] / "Waiting"))

from waiting import be_slow, eventually

Tree = dict[str, bytes]
WAIT = 300.0
KEY, SECRET = "albumkey", "albumsecret"
# What no test can wait for on each kill. A user's delays differ from these only in their length.
DELAYS = "watch=2,outage=4,remote=4,following=0.5"


class Difference(Exception):
    pass


def until(what: str, condition: "collections.abc.Callable[[], object]") -> None:
    """Waits for an event."""
    if not eventually(condition):
        raise Difference(f"waited in vain until {what}")


class Server:
    """SeaweedFS with a directory of its own, which survives its death."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        self.program = cache / "albumfs-tests/seaweedfs-4.48/weed"
        (folder / "data").mkdir()
        (folder / "s3.json").write_text(
            '{"identities": [{"name": "tests", "actions": ["Admin", "Read", "Write", "List"],'
            f'"credentials": [{{"accessKey": "{KEY}", "secretKey": "{SECRET}"}}]}}]}}')
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(8)]
        self.ports = [one.getsockname()[1] for one in sockets]
        for one in sockets:
            one.close()
        self.endpoint = f"http://127.0.0.1:{self.ports[3]}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        names = ["master", "volume", "filer", "s3"]
        words = [f"-{name}.port={port}" for name, port in zip(names, self.ports)]
        words += [f"-{name}.port.grpc={port}" for name, port in zip(names, self.ports[4:])]
        words += [f"-{name}.localSocket={self.folder}/{name}.sock" for name in ("filer", "s3")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.program, f"-logdir={self.folder}", "server", f"-dir={self.folder}/data", "-ip=127.0.0.1",
                 "-ip.bind=127.0.0.1", "-master.volumeSizeLimitMB=64", "-volume.max=0", "-filer", "-s3",
                 f"-s3.config={self.folder}/s3.json",
                 "-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0", *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until("SeaweedFS replies", lambda: self.status("") == "403")

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def status(self, path: str, *options: str) -> str:
        words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *options, f"{self.endpoint}/{path}"]
        return subprocess.run(words, stdout=subprocess.PIPE, text=True).stdout

    def make_bucket(self, name: str) -> None:
        until("the bucket is made", lambda: self.status(
            name, "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", f"{KEY}:{SECRET}", "-X", "PUT", "-H",
            "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") == "200")


class Machine:
    """A home and a mount point."""

    def __init__(self, name: str, folder: Path, server: Server, programs: Path, address: str) -> None:
        self.name, self.address = name, address
        self.home = folder / name
        self.point = folder / f"{name}-mnt"
        self.home.mkdir()
        self.point.mkdir()
        self.password = folder / "password"
        self.environment = {
            "PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8",
            "XDG_STATE_HOME": str(self.home / "state"), "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": server.endpoint, "ALBUMFS_TESTS_DELAYS": DELAYS,
            "ALBUMFS_TESTS_ALLOW_WEAK_PASSWORDS": "yes", "ALBUMFS_TESTS_FORBID_CHAFF": "yes"}
        self.daemon: subprocess.Popen[str] | None = None
        # The contents that a session had closed when it was overtaken, and that may not have been sent.
        self.owed: set[bytes] = set()

    def command(self, *words: object) -> subprocess.Popen[str]:
        return subprocess.Popen(["albumfs", *map(str, words)], env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *words: object, codes: tuple[int, ...] = (0,)) -> int:
        process = self.command(*words)
        output, _ = process.communicate(timeout=WAIT)
        if process.returncode not in codes:
            raise Difference(f"{self.name}: albumfs {' '.join(map(str, words))}: {process.returncode}: {output}")
        return process.returncode

    def begin_mount(self, *options: str) -> subprocess.Popen[str]:
        """Starts a mount in the foreground, so that its process is the daemon."""
        self.clear()
        return self.command("mount", "--foreground", *options, "--password-file", self.password, self.address,
                            self.point)

    def mount(self, *options: str, codes: tuple[int, ...] = (0,)) -> int:
        """Returns 0 when it is mounted."""
        process = self.begin_mount(*options)
        until("the mount is there", lambda: process.poll() is not None or os.path.ismount(self.point))
        if process.poll() is not None:
            output = process.communicate()[0]
            if process.returncode not in codes:
                raise Difference(f"{self.name}: mount: {process.returncode}: {output}")
            return process.returncode
        self.daemon = process
        return 0

    def helpers(self) -> list[int]:
        if not self.daemon:
            return []
        words = ["pgrep", "-P", str(self.daemon.pid), "albumfs-remote"]
        found = subprocess.run(words, stdout=subprocess.PIPE, text=True)
        return [int(word) for word in found.stdout.split()]

    def kill(self) -> None:
        if self.daemon:
            self.daemon.kill()
            self.daemon.communicate()
            self.daemon = None
        self.clear()

    def clear(self) -> None:
        while os.path.ismount(self.point) or is_dead(self.point):
            subprocess.run(["fusermount3", "-uz", self.point], stderr=subprocess.DEVNULL)

    def umount(self) -> None:
        self.run("umount", "-q", self.point)
        if self.daemon:
            self.daemon.communicate(timeout=WAIT)
        self.daemon = None

    @property
    def notes(self) -> Path:
        return self.point / "A" / "Notes"

    def tree(self) -> Tree:
        found = self.notes.iterdir() if self.notes.is_dir() else []
        return {path.name: path.read_bytes() for path in found if path.is_file()}

    def recovered(self) -> set[bytes]:
        root = self.point / "Recovered"
        return {path.read_bytes() for path in root.rglob("*") if path.is_file()} if root.is_dir() else set()


def is_dead(point: Path) -> bool:
    try:
        os.stat(point)
    except OSError:
        return True
    return False


class Operation:
    """One change of a tree, which may be half done."""

    def __init__(self, random: random.Random, tree: Tree, number: int) -> None:
        kinds = ["create"] * 4 + (["append", "replace", "rename", "remove"] if tree else [])
        self.kind = random.choice(kinds)
        self.name = f"f{number}" if self.kind == "create" else random.choice(sorted(tree))
        self.other = f"r{number}" if self.kind == "rename" else f"{self.name}.new"
        size = random.choice([0, 10, 5000, 60_000, 700_000])
        self.data = random.randbytes(size) + str(number).encode()
        self.old = tree.get(self.name, b"")

    def after(self, tree: Tree) -> Tree:
        result = dict(tree)
        if self.kind in ("rename", "remove"):
            result.pop(self.name)
        if self.kind == "rename":
            result[self.other] = self.old
        elif self.kind != "remove":
            result[self.name] = (self.old if self.kind == "append" else b"") + self.data
        return result

    def perform(self, folder: Path) -> None:
        path, other = folder / self.name, folder / self.other
        if self.kind == "rename":
            path.rename(other)
        elif self.kind == "remove":
            path.unlink()
        elif self.kind == "replace":
            other.write_bytes(self.data)
            other.rename(path)
        else:
            with path.open("ab") as file:
                file.write(self.data)

    def explains(self, found: Tree, before: Tree) -> bool:
        """True if `found` is `before` with this operation not done, done, or half done."""
        if found in (before, self.after(before)):
            return True
        names = {self.name, self.other}
        if {n: c for n, c in found.items() if n not in names} != {n: c for n, c in before.items() if n not in names}:
            return False
        if self.kind == "replace":
            return found.get(self.name) == self.old and self.data.startswith(found.get(self.other, b""))
        if self.kind in ("create", "append"):
            whole = self.old + self.data
            content = found.get(self.name, b"")
            return self.other not in found and whole.startswith(content) and len(content) >= len(self.old)
        return False


class Session:
    """Operations on a mount in a thread, until it is told to stop or the mount is gone."""

    def __init__(self, machine: Machine, tree: Tree, random: random.Random, number: int) -> None:
        self.machine, self.random, self.number = machine, random, number
        self.states = [tree]
        self.operations: list[Operation] = []
        self.synced = 0
        self.stops = threading.Event()
        self.error: str | None = None
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self) -> None:
        while not self.stops.is_set():
            operation = Operation(self.random, self.states[-1], self.number + len(self.operations))
            self.operations.append(operation)
            try:
                operation.perform(self.machine.notes)
            except OSError as error:
                self.error = f"{operation.kind}: {error}"
                return
            self.states.append(operation.after(self.states[-1]))
            if self.random.random() < 0.06:
                count = len(self.operations)
                process = self.machine.command("sync", "-q", self.machine.point)
                process.communicate()
                if process.returncode == 0:
                    self.synced = count

    def __str__(self) -> str:
        last = ", ".join(f"{one.kind} {one.name}" for one in self.operations[-2:])
        return (f"a session of {len(self.operations)} operations, {len(self.states) - 1} of them ended and "
                f"{self.synced} synced, the last ones {last}")

    @property
    def kept(self) -> int:
        """The number of operations that survive a kill: a removal does so 5 seconds later, or with the next close."""
        last = len(self.states) - 1
        while last > 0 and self.operations[last - 1].kind == "remove":
            last -= 1
        return last

    def stop(self) -> None:
        self.stops.set()
        self.thread.join(WAIT)
        if self.thread.is_alive():
            raise Difference("an operation does not end")

    def matches(self, found: Tree, at_least: int) -> int:
        """The number of the state that `found` is, or comes after; the newest one that fits."""
        for number in range(len(self.states) - 1, at_least - 1, -1):
            last = self.operations[number] if number < len(self.operations) else None
            if found == self.states[number] or last and last.explains(found, self.states[number]):
                return number
        raise Difference(f"no state from {at_least} to {len(self.states) - 1} is what is there: "
                         f"{describe(found, self.states[-1])}")


def describe(found: Tree, wanted: Tree) -> str:
    missing = [name for name in wanted if name not in found]
    more = [name for name in found if name not in wanted]
    other = [f"{name} ({len(found[name])} for {len(wanted[name])} bytes)"
             for name in wanted if name in found and found[name] != wanted[name]]
    return f"missing {missing}, more {more}, other {other}"


def unsent(left: Tree, there: Tree) -> set[bytes]:
    """The contents that a session had closed and another machine does not see. Of what extends an older content, a
    repair may find the new part alone."""
    known = [content for content in there.values() if content]
    return {content for content in left.values()
            if content not in known and not any(content.startswith(old) for old in known)}


class Run:
    def __init__(self, folder: Path, programs: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.server = Server(folder)
        self.server.start()
        self.server.make_bucket("kills")
        (folder / "password").write_text("correct horse\n")
        address = "s3://kills/album"
        self.machines = [Machine(name, folder, self.server, programs, address) for name in ("a", "b", "reader")]
        self.reader = self.machines.pop()
        self.current = self.machines[0]
        self.tree: Tree = {}
        self.number = 0
        self.doing = ""
        self.counts: collections.Counter[str] = collections.Counter()
        self.current.run("init", "-q", "--kdf", "interactive", "--segment-size", "1M", "--chaff", "4M",
                         "--password-file", folder / "password", address)
        self.current.mount()
        self.current.notes.mkdir(parents=True)
        self.current.umount()

    def round(self) -> None:
        machine = self.current
        self.enter(machine)
        session = Session(machine, self.tree, self.random, self.number)
        be_slow(self.random.uniform(0, self.random.choice([0.3, 3, 10])))
        victim = self.random.choice(["daemon", "daemon", "helpers", "server", "daemon and server", "unmount"])
        self.counts[victim] += 1
        self.doing = f"after the kill of {victim}"
        if victim == "unmount":
            session.stop()
            process = machine.command("umount", machine.point)
            be_slow(self.random.uniform(0, 2))
            if machine.daemon:
                machine.daemon.kill()
            output, _ = process.communicate(timeout=WAIT)
            # An unmount that comes too late clears the mount point, and says nothing of what was written.
            if process.returncode == 0 and "its daemon was gone" not in output:
                session.synced = len(session.states) - 1
        if "server" in victim:
            self.server.kill()
        if victim == "helpers":
            for helper in machine.helpers():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(helper, signal.SIGKILL)
        if "daemon" in victim or victim == "unmount":
            machine.kill()
            if "server" in victim:
                self.server.start()
            self.after_death(machine, session)
        else:
            be_slow(self.random.uniform(0, 3))
            if victim == "server":
                self.server.start()
            self.after_trouble(machine, session)
        self.number += len(session.operations)

    def enter(self, machine: Machine) -> None:
        """Mounts, also after a mount that was killed, and a repair where one is owed."""
        if self.random.random() < 0.2:
            process = machine.begin_mount()
            be_slow(self.random.uniform(0, 2))
            process.kill()
            process.communicate()
            machine.clear()
            self.counts["mount"] += 1
        while machine.mount(codes=(54,)) == 54:
            self.repair(machine)
        found = machine.tree()
        if found != self.tree:
            raise Difference(f"{machine.name} mounts something else: {describe(found, self.tree)}")
        lost = machine.owed - machine.recovered() - set(found.values())
        if lost:
            raise Difference(f"{machine.name} had closed {len(lost)} contents that nobody finds any more")
        machine.owed = set()

    def repair(self, machine: Machine) -> None:
        words = ("check", "--repair", "-q", "--password-file", machine.password, machine.address)
        while self.random.random() < 0.6:
            process = machine.command(*words)
            be_slow(self.random.uniform(0, 6))
            process.send_signal(self.random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
            process.communicate(timeout=WAIT)
            self.counts["repair"] += 1
            # Whatever is left of it: a mount is refused, or there is nothing to bring back any more.
            code = machine.mount(codes=(54,))
            if code == 0:
                machine.umount()
        machine.run(*words, codes=(0, 26))

    def seen_elsewhere(self) -> Tree:
        self.reader.mount("--read-only")
        found = self.reader.tree()
        self.reader.umount()
        return found

    def after_death(self, machine: Machine, session: Session) -> None:
        session.stop()
        self.doing += f" in {session}, seen elsewhere"
        session.matches(self.seen_elsewhere(), session.synced)
        if self.random.random() < 0.4:
            other = next(one for one in self.machines if one is not machine)
            self.counts["takeover"] += 1
            self.doing += ", taken over"
            while other.mount(codes=(54,)) == 54:
                self.repair(other)
            self.tree = other.tree()
            session.matches(self.tree, session.synced)
            machine.owed |= unsent(session.states[-1], self.tree)
            lost = other.owed - other.recovered() - set(self.tree.values())
            if lost:
                raise Difference(f"{other.name} had closed {len(lost)} contents that nobody finds any more")
            other.owed = set()
            other.umount()
            self.current = other
            return
        self.doing += ", mounted again"
        machine.mount()
        self.tree = machine.tree()
        session.matches(self.tree, max(session.kept, session.synced))
        if self.random.random() < 0.5:
            machine.umount()
        else:
            machine.run("sync", "-q", machine.point)
            machine.kill()

    def after_trouble(self, machine: Machine, session: Session) -> None:
        session.stop()
        if session.error:
            raise Difference(f"the mount fails: {session.error}")
        until("everything is sent", lambda: machine.run("sync", "-q", machine.point, codes=(0, 54)) == 0)
        self.tree = session.states[-1]
        if (found := self.seen_elsewhere()) != self.tree:
            raise Difference(f"sync has not sent everything: {describe(found, self.tree)}")
        machine.umount()
        if self.random.random() < 0.5:
            self.current = next(one for one in self.machines if one is not machine)

    def end(self) -> None:
        for machine in [*self.machines, self.reader]:
            machine.kill()
        self.server.kill()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    print(f"kills of a bucket's mount: seed {options.seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="albumfs-kills-"))
    run = Run(folder, options.programs.resolve(), options.seed)
    end = time.monotonic() + 60 * options.minutes
    rounds = 0
    try:
        while time.monotonic() < end:
            run.round()
            rounds += 1
        run.enter(run.current)
        run.current.umount()
        run.current.run("check", "-q", "--password-file", run.current.password, run.current.address)
    except (Difference, OSError, subprocess.TimeoutExpired) as difference:
        run.end()
        sys.exit(f"round {rounds}, seed {options.seed}, {run.doing}: {difference} (everything is in {folder})")
    run.end()
    shutil.rmtree(folder)
    print(f"{rounds} rounds, {run.number} operations, kills: {dict(run.counts)}")


main()
