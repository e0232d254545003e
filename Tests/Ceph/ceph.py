"""A real Ceph on this machine: one monitor, one manager, one OSD in memory, and what its users need besides.

The daemons run in the foreground, in a temporary directory and on loopback, and end with the program.
"""
from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "Waiting"))

from waiting import eventually

# Seconds for a command of Ceph, on a busy machine too.
LIMIT = 120
SETTINGS = """
[global]
fsid = {fsid}
mon host = v1:127.0.0.1:{mon}
ms bind msgr2 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
# A pool of the gateway is made at its first use.
mon max pg per osd = 1000
osd objectstore = memstore
memstore device bytes = 4294967296
# An OSD that is told to end keeps on a disk what it had in memory.
osd fast shutdown = false
osd memory target = 939524096
osd class load list = *
osd class default list = *
run dir = {top}/run
admin socket = {top}/run/$name.asok
pid file =
log file = {top}/log/$name.log
rgw dns name = localhost
mds data = {top}/mds
mds beacon grace = 30
[mon.a]
mon data = {top}/mon
mon addr = v1:127.0.0.1:{mon}
[osd.0]
osd data = {top}/osd
[mgr.x]
mgr data = {top}/mgr
"""


class Missing(Exception):
    pass


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Ceph:
    def __init__(self, top: Path) -> None:
        self.top = top
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.restarts = 5
        self.settings = top / "ceph.conf"
        self.mon, self.port = free_ports(2)

    def start_storage(self) -> None:
        """Starts all but what uses the storage."""
        mon, fsid = self.mon, str(uuid.uuid4())
        for name in ("run", "log", "mon", "osd", "mgr", "mds"):
            (self.top / name).mkdir()
        self.settings.write_text(SETTINGS.format(fsid=fsid, top=self.top, mon=mon))
        monitors = str(self.top / "monmap")
        self.run("monmaptool", "--create", "--clobber", "--fsid", fsid, "--addv", "a", f"[v1:127.0.0.1:{mon}]",
                 monitors, has_settings=False)
        self.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monitors)
        self.start("ceph-mon", "-i", "a")
        self.until("the monitor replies", lambda: self.succeeds("ceph", "-s"))
        self.run("ceph", "osd", "create")
        self.run("ceph-osd", "-i", "0", "--mkfs")
        self.run("ceph", "osd", "crush", "add", "osd.0", "1", "host=h", "root=default")
        self.start("ceph-osd", "-i", "0")
        self.start("ceph-mgr", "-i", "x")
        self.until("the OSD is up", lambda: b"1 up" in self.output("ceph", "osd", "stat"))

    def start_gateway(self, key: str, secret: str) -> None:
        """Starts an object storage with one user."""
        self.start("radosgw", "-n", "client.rgw", "--rgw-frontends", f"beast endpoint=127.0.0.1:{self.port}")
        self.until("the gateway replies", lambda: self.output(
            "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{self.port}/",
            has_settings=False) == b"200")
        self.run("radosgw-admin", "user", "create", "--uid", "tests", "--display-name", "tests", "--access-key", key,
                 "--secret-key", secret)

    def start_files(self) -> None:
        """Starts a file system."""
        for pool in ("metadata", "data"):
            self.run("ceph", "osd", "pool", "create", pool, "4")
        self.run("ceph", "fs", "new", "photos", "metadata", "data")
        # A client that is silent loses its locks soon.
        for setting in ("session_timeout", "session_autoclose"):
            self.run("ceph", "fs", "set", "photos", setting, "30")
        self.start("ceph-mds", "-i", "a")
        self.until("the file system is there", lambda: b"up:active" in self.output("ceph", "mds", "stat"))

    def end_daemon(self, program: str, number: signal.Signals) -> None:
        """Ends a daemon by a signal. Once `until` is called, it is started again."""
        for daemon in self.daemons:
            if daemon.args[0] == program:
                daemon.send_signal(number)
                daemon.wait()
                self.restarts += 1

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.port}"

    def words(self, words: tuple[str, ...], has_settings: bool = True) -> list[str]:
        return [words[0], *(["-c", str(self.settings)] if has_settings else []), *words[1:]]

    def start(self, *words: str) -> None:
        self.daemons.append(self.begin([*self.words(words), "-f"]))

    def begin(self, words: list[str]) -> subprocess.Popen[bytes]:
        with (self.top / "log" / f"{words[0]}.output").open("ab") as log:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def restart_ended(self) -> None:
        """Now and then, a daemon of Ceph 16.2 aborts when it starts. systemd starts it again, as this does."""
        for place, daemon in enumerate(self.daemons):
            if daemon.poll() is not None and self.restarts > 0:
                self.restarts -= 1
                self.daemons[place] = self.begin(daemon.args)

    def run(self, *words: str, has_settings: bool = True) -> None:
        done = subprocess.run(self.words(words, has_settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT)
        if done.returncode != 0:
            raise Missing(f"{' '.join(words)}: {done.returncode}: {done.stdout.decode(errors='replace')[-2000:]}")

    def output(self, *words: str, has_settings: bool = True) -> bytes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return subprocess.run(self.words(words, has_settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, timeout=LIMIT).stdout
        return b""

    def succeeds(self, *words: str) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return subprocess.run(self.words(words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=20).returncode == 0
        return False

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        def is_over() -> bool:
            self.restart_ended()
            return any(one.poll() is not None for one in self.daemons) or condition()

        is_there = False
        with contextlib.suppress(AssertionError):
            is_there = eventually(is_over)
        ended = [" ".join(one.args) for one in self.daemons if one.poll() is not None]
        if ended or not is_there:
            said = "".join(path.read_text(errors="replace")[-1500:] for path in self.top.glob("log/*"))
            raise Missing(f"waited in vain until {what}; ended: {ended}\n{said}")

    def end(self) -> None:
        for daemon in reversed(self.daemons):
            daemon.kill()
            daemon.wait()


@contextlib.contextmanager
def running() -> Iterator[Ceph]:
    """A Ceph of which nothing runs yet. What was started ends with the block, also by SIGTERM."""
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    top = Path(tempfile.mkdtemp(prefix="albumfs-ceph-"))
    ceph = Ceph(top)
    try:
        yield ceph
    finally:
        ceph.end()
        shutil.rmtree(top, ignore_errors=True)
