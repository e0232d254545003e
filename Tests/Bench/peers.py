"""The file systems that are measured: how each makes a store, mounts it in the foreground and unmounts it.

Every peer runs with the options that its own documentation recommends for a new store. Only the cost of deriving a
key from the password is the least that the peer allows: no row but the mount would show it, and that row leaves it
out.
"""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from measuring import Failed, Interrupts, Process, clear_mount, guarded, is_mounted, run

PASSWORD = "bench"
EXAMPLE = Path("/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c")
RING_SWITCH = Path("/sys/module/fuse/parameters/enable_uring")
MOUNT_LIMIT = 60.0


@dataclass(frozen=True)
class Peer:
    """`{program}`, `{store}`, `{mnt}`, `{password}` (a file) and `{key}` (a file) stand for themselves in commands."""
    name: str
    program: str
    mount: tuple[str, ...]
    make: tuple[str, ...] = ()
    # The password is the standard input of the mount.
    has_stdin: bool = False
    is_albumfs: bool = False
    # It does not encrypt. So it is shown, but not compared with the other peers.
    is_reference: bool = False
    # It mounts without deriving a key from a password, or at almost no cost.
    mounts_at_once: bool = True


PASSTHROUGH = Peer("passthrough_ll", "passthrough_ll", ("{program}", "-f", "-o", "source={store}", "{mnt}"),
                   is_reference=True)
OTHERS = (
    Peer("gocryptfs", "gocryptfs", ("{program}", "-fg", "-q", "-passfile", "{password}", "{store}", "{mnt}"),
         ("{program}", "-init", "-q", "-scryptn", "10", "-passfile", "{password}", "{store}")),
    Peer("securefs", "securefs", ("{program}", "mount", "--pass", PASSWORD, "{store}", "{mnt}"),
         ("{program}", "create", "--pbkdf", "pkcs5-pbkdf2-hmac-sha256", "--rounds", "1", "--pass", PASSWORD,
          "{store}")),
    Peer("CryFS", "cryfs", ("{program}", "-f", "{store}", "{mnt}"), has_stdin=True, mounts_at_once=False),
    Peer("EncFS", "encfs", ("{program}", "-f", "--standard", "-S", "{store}", "{mnt}"), has_stdin=True,
         mounts_at_once=False),
)


def albumfs(name: str, program: Path, *options: str) -> Peer:
    return Peer(name, str(program),
                ("{program}", "mount", "-q", "--foreground", "--recovery-key", "--password-file", "{key}", *options,
                 "{store}", "{mnt}"),
                ("{program}", "init", "-q", "--password-file", "{password}", "{store}"), is_albumfs=True)


def build_passthrough(folder: Path) -> Path:
    """Builds libfuse's example of a file system that hands every request on."""
    if not EXAMPLE.exists():
        raise Failed(f"libfuse3-dev's example is missing: {EXAMPLE}")
    program = folder / "passthrough_ll"
    flags = folder / "flags"
    run(["pkg-config", "--cflags", "--libs", "fuse3"], limit=20, stdout=flags)
    run(["cc", "-O2", "-o", str(program), str(EXAMPLE), *flags.read_text().split()], limit=120)
    return program


def find_peers(program: Path, folder: Path) -> tuple[list[Peer], list[str]]:
    """Every peer of this machine, in the order of the table's columns, and why the others are missing."""
    peers: list[Peer] = []
    missing: list[str] = []
    try:
        peers.append(replace(PASSTHROUGH, program=str(build_passthrough(folder))))
    except (Failed, FileNotFoundError) as error:
        missing.append(f"{PASSTHROUGH.name}: {error}")
    for peer in OTHERS:
        if shutil.which(peer.program):
            peers.append(peer)
        else:
            missing.append(f"{peer.name}: {peer.program} is not installed; scripts/dependencies --bench says why")
    text = folder / "help"
    run([str(program), "mount", "--help"], limit=20, stdout=text)
    if "--transport" not in text.read_text():
        return [*peers, albumfs("albumfs", program)], missing
    peers.append(albumfs("albumfs", program, "--transport", "device"))
    if RING_SWITCH.exists() and RING_SWITCH.read_text().strip() in ("Y", "1"):
        peers.append(albumfs("albumfs, io_uring", program, "--transport", "uring"))
    elif RING_SWITCH.exists():
        missing.append(f"albumfs, io_uring: the kernel's switch is off. As root: echo 1 > {RING_SWITCH}")
    else:
        missing.append("albumfs, io_uring: this kernel has no FUSE over io_uring")
    return peers, missing


class Store:
    """One store of a peer, and its only mount point."""

    def __init__(self, peer: Peer, folder: Path) -> None:
        folder.mkdir()
        self.peer = peer
        self.folder = folder
        self.path = folder / "store"
        self.path.mkdir()
        self.mount_point = folder / "mnt"
        self.mount_point.mkdir()
        self.password = folder / "password"
        self.password.write_text(PASSWORD + "\n")
        self.key = folder / "key"
        self.daemon: Process | None = None
        self.environment = dict(
            os.environ, HOME=str(folder), XDG_STATE_HOME=str(folder / "state"), XDG_RUNTIME_DIR=str(folder),
            LC_ALL="C.UTF-8", CRYFS_FRONTEND="noninteractive", CRYFS_NO_UPDATE_CHECK="true",
            CRYFS_LOCAL_STATE_DIR=str(folder / "state"), ALBUMFS_TESTS_ALLOW_WEAK_PASSWORDS="yes")
        if peer.make:
            run(self.words(peer.make), MOUNT_LIMIT, environment=self.environment)
        if peer.is_albumfs:
            run([peer.program, "space", "recovery-key", "--password-file", str(self.password), str(self.path)],
                MOUNT_LIMIT, environment=self.environment, stdout=self.key)

    def words(self, template: tuple[str, ...]) -> list[str]:
        return [word.format(program=self.peer.program, store=self.path, mnt=self.mount_point,
                            password=self.password, key=self.key) for word in template]

    def mount(self, witness: str = "") -> float:
        """Mounts; returns the seconds until the file `witness` of the mount answered a stat."""
        start = time.perf_counter()
        with Interrupts.deferred():
            daemon = self.daemon = Process(self.words(self.peer.mount), self.environment,
                                           stdin=self.password if self.peer.has_stdin else None)
        with guarded(MOUNT_LIMIT, daemon):
            while not is_mounted(self.mount_point):
                if daemon.has_ended():
                    self.daemon = None
                    raise Failed(f"mount of {self.peer.name}: exit {daemon.child.returncode}: {daemon.message()}")
                time.sleep(0.001)
            try:
                os.stat(self.mount_point / witness)
            except OSError as error:
                raise Failed(f"mount of {self.peer.name}: {error}") from None
            seconds = time.perf_counter() - start
        daemon.forget_peak()
        return seconds

    def unmount(self) -> None:
        """Unmounts and waits for the daemon, which may still have to write."""
        daemon, self.daemon = self.daemon, None
        if daemon is None:
            return
        words = [self.peer.program, "umount", "-q"] if self.peer.is_albumfs else ["fusermount3", "-u"]
        try:
            with guarded(MOUNT_LIMIT, daemon) as is_late:
                run([*words, str(self.mount_point)], MOUNT_LIMIT, daemon, self.environment)
                daemon.child.wait()
            if is_late.is_set():
                raise Failed(f"{self.peer.name}: not unmounted after {MOUNT_LIMIT:.0f} s")
        finally:
            self.end(daemon)

    def end(self, daemon: Process | None) -> None:
        """Kills the daemon, if there is one, and removes the mount."""
        if daemon is not None:
            daemon.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.child.wait(MOUNT_LIMIT)
        clear_mount(self.mount_point)

    def is_alive(self) -> bool:
        return self.daemon is not None and not self.daemon.has_ended()

    def revive(self) -> None:
        """Mounts again after a daemon died."""
        daemon, self.daemon = self.daemon, None
        self.end(daemon)
        self.mount()

    def remove(self) -> None:
        daemon, self.daemon = self.daemon, None
        self.end(daemon)
        with contextlib.suppress(OSError):
            os.rmdir(self.mount_point)
        if is_mounted(self.mount_point):
            raise Failed(f"{self.mount_point} stays mounted")
        shutil.rmtree(self.folder, ignore_errors=True)
