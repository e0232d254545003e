#!/usr/bin/env python3
"""Two machines and a store on CephFS, each with a mount of its own by ceph-fuse (Tests/Ceph/ceph.py).

    cephfs.py --programs DIRECTORY     DIRECTORY has albumfs, of a debug build

Promises:
 - One machine writes; another one is refused with the reason, and reads what the writer has stored.
 - A server of metadata that is killed, and one of data that ends, cost nothing: whoever copies meanwhile waits.
 - A daemon that is killed leaves the space to the other machine, with all that was stored.
 - A machine that was silent for longer than the servers keep its locks stores nothing more once another machine
   writes, and what was stored before stays.
 - Files that any machine stored are there at the next mount, whole; and check finds nothing wrong.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parents[1] / "Ceph"))
sys.path.insert(0, str(Path(__file__).parents[1] / "Waiting"))

from ceph import Ceph, Missing, running
from waiting import eventually

DELAYS = "watch=1,silence=2,outage=5"


def require(holds: bool, what: str) -> None:
    if not holds:
        raise Missing(what)


class Machine:
    """A mount of CephFS, and one of the space on it."""

    def __init__(self, ceph: Ceph, albumfs: str, name: str) -> None:
        self.ceph, self.albumfs, self.name = ceph, albumfs, name
        self.top = ceph.top / name
        self.net, self.space = self.top / "net", self.top / "space"
        for folder in (self.top, self.net, self.space):
            folder.mkdir()
        self.environment = dict(
            os.environ, HOME=str(self.top), XDG_RUNTIME_DIR=str(self.top), ALBUMFS_TESTS_DELAYS=DELAYS,
            ALBUMFS_TESTS_ALLOW_WEAK_PASSWORDS="yes")
        # In the foreground and in a session of its own, so that it can be stopped.
        self.client = ceph.begin(["ceph-fuse", "-c", str(ceph.settings), "-f", str(self.net)])
        eventually(lambda: os.path.ismount(self.net))

    def do(self, *words: str) -> tuple[int, str]:
        print(f"{self.name}: albumfs {' '.join(words)}", flush=True)
        done = subprocess.run([self.albumfs, *words], env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print(f"  exit {done.returncode}: {done.stdout[-1500:]}", flush=True)
        return done.returncode, done.stdout

    def must(self, *words: str) -> str:
        code, text = self.do(*words)
        require(code == 0, f"{self.name}: albumfs {' '.join(words)}: exit {code}: {text}")
        return text

    @property
    def password(self) -> tuple[str, str]:
        return "--password-file", str(self.ceph.top / "password")

    def mount(self, *options: str) -> int:
        return self.do("mount", "-q", *self.password, *options, f"{self.net}/store", str(self.space))[0]

    def umount(self) -> None:
        self.must("umount", "-q", str(self.space))

    @property
    def status(self) -> dict[str, object]:
        return json.loads(self.must("status", "--json", str(self.space)))

    def store(self, album: str, count: int) -> set[str]:
        """Writes photos, syncs each, and returns those that are stored."""
        stored: set[str] = set()
        try:
            (self.space / album).mkdir()
            for number in range(count):
                with open(self.space / album / "Photo" / f"{number}.bin", "wb") as file:
                    file.write(content(album, number))
                    file.flush()
                    os.fsync(file.fileno())
                stored.add(f"{album}/{number}")
        except OSError as error:
            print(f"  {error}; {self.do('status', str(self.space))[1]}", flush=True)
        return stored

    def expect(self, stored: set[str]) -> None:
        """Requires that each stored photo is there, whole."""
        for name in sorted(stored):
            album, number = name.split("/")
            found = (self.space / album / "Photo" / f"{number}.bin").read_bytes()
            require(found == content(album, int(number)), f"{name} was stored, and {self.name} shows otherwise")

    def end(self) -> None:
        self.client.send_signal(signal.SIGCONT)
        subprocess.run(["umount", "-l", str(self.space)], stderr=subprocess.DEVNULL)
        self.client.kill()
        self.client.wait()
        subprocess.run(["umount", "-l", str(self.net)], stderr=subprocess.DEVNULL)


RANDOM = os.urandom(900_000)


def content(album: str, number: int) -> bytes:
    return RANDOM + f"{album}{number}".encode()


@contextlib.contextmanager
def machines(ceph: Ceph, albumfs: str) -> Iterator[tuple[Machine, Machine]]:
    begun: list[Machine] = []
    try:
        for name in ("one", "two"):
            begun.append(Machine(ceph, albumfs, name))
        yield begun[0], begun[1]
    finally:
        for machine in begun:
            machine.end()


def copying(machine: Machine, album: str, count: int) -> subprocess.Popen[str]:
    """A process that stores photos and prints the names of those that are stored."""
    script = (f"mkdir {album}; for n in $(seq 0 {count - 1}); do f={album}/Photo/$n.bin; "
              f"{{ cat {machine.ceph.top}/random && printf %s {album}$n; }} > $f && sync $f && echo {album}/$n; done")
    return subprocess.Popen(["bash", "-c", script], cwd=machine.space, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, text=True)


def play(ceph: Ceph, one: Machine, two: Machine) -> None:
    # A new pool has no room until its statistics have come.
    eventually(lambda: os.statvfs(one.net).f_bavail > 0)
    (ceph.top / "password").write_text("a password of two machines\n")
    (ceph.top / "random").write_bytes(RANDOM)
    one.must("init", "-q", "--kdf", "interactive", "--chaff", "0", "--segment-size", "1M", *one.password,
             f"{one.net}/store")
    require(one.mount() == 0, "the first machine mounts")
    stored = one.store("first", 5)
    require(len(stored) == 5, "the first machine stores")
    statistics = os.statvfs(one.net)
    print(f"statvfs: {statistics.f_files} files, {statistics.f_ffree} free", flush=True)
    os.statvfs(one.space)

    require(two.mount() == 40, "a second writer is refused")
    require(two.mount("--read-only") == 0, "a second machine reads")
    two.expect(stored)
    more = one.store("second", 2)
    eventually(lambda: (two.space / "second/Photo/1.bin").exists())
    two.expect(more)
    two.umount()
    stored |= more

    for program, number in (("ceph-mds", signal.SIGKILL), ("ceph-osd", signal.SIGTERM)):
        print(f"== {program} ends while one copies, and is started again", flush=True)
        album = program.replace("ceph-", "while-")
        writer = copying(one, album, 30)
        said = [writer.stdout.readline() for _ in range(5)]
        ceph.end_daemon(program, number)
        ceph.until(f"{program} is back", lambda: b"up:active" in ceph.output("ceph", "mds", "stat"))
        said += writer.communicate()[0].split()
        saved = {name.strip() for name in said}
        require(len(saved) == 30, f"whoever copies meanwhile waits: {len(saved)} of 30 are stored")
        stored |= saved
    one.expect(stored)
    require(one.status["readOnly"] is False, "the mount still writes")

    print("== the daemon is killed while one copies", flush=True)
    writer = copying(one, "killed", 30)
    said = [writer.stdout.readline() for _ in range(5)]
    os.kill(int(str(one.status["pid"])), signal.SIGKILL)
    stored |= {name.strip() for name in said + writer.communicate()[0].split()}
    # The kernel may keep a killed daemon, and its lock, until its mount is cleared.
    one.do("umount", "-q", str(one.space))
    eventually(lambda: two.mount() == 0)
    two.expect(stored)
    two.umount()

    print("== a machine is silent for longer than its locks live", flush=True)
    require(one.mount() == 0, "the first machine mounts again")
    one.expect(stored)
    stored |= one.store("before", 3)
    one.client.send_signal(signal.SIGSTOP)
    eventually(lambda: two.mount() == 0)
    two.expect(stored)
    others = two.store("other", 3)
    require(len(others) == 3, "the second machine stores")
    stored |= others
    one.client.send_signal(signal.SIGCONT)
    # The servers take nothing from its client any more, so that whoever writes waits until somebody ends it.
    writer = copying(one, "late", 3)
    eventually(lambda: "outage" in one.status)
    os.kill(int(str(one.status["pid"])), signal.SIGKILL)
    late = writer.communicate()[0].split()
    require(not late, f"a machine that lost its locks stores nothing more, and said so of {late}")
    one.do("umount", "-q", str(one.space))
    two.expect(stored)
    two.umount()
    two.do("check", "-q", *two.password, "--repair", f"{two.net}/store")
    two.must("check", "-q", *two.password, f"{two.net}/store")
    require(two.mount() == 0, "the second machine mounts")
    two.expect(stored)
    two.umount()
    print(f"{len(stored)} photos were stored by two machines and are there", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, required=True)
    options = parser.parse_args()
    try:
        with running() as ceph:
            ceph.start_storage()
            ceph.start_files()
            with machines(ceph, f"{options.programs.resolve()}/albumfs") as (one, two):
                play(ceph, one, two)
            return 0
    except Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
