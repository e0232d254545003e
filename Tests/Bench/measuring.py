"""Runs programs and daemons under a time limit, and reads what they cost from /proc.

A file of a mount may hang for as long as its daemon does. So whatever touches a mount runs inside `guarded`, which
kills the program and the daemon when the time is up; the kernel then fails every call that waits for them.
"""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


class Failed(Exception):
    """A program failed, or gave other bytes than were written."""


class Late(Failed):
    """A program took longer than its limit."""


class Interrupts:
    """Turns signals into KeyboardInterrupt, but not where a child would be forgotten or a mount be left."""
    depth = 0
    is_pending = False

    @classmethod
    def install(cls) -> None:
        # The end of a terminal, and `timeout`, cause the same cleaning up as Ctrl-C.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, cls.handle)

    @classmethod
    def handle(cls, *_: object) -> None:
        if cls.depth:
            cls.is_pending = True
        else:
            raise KeyboardInterrupt

    @classmethod
    @contextlib.contextmanager
    def deferred(cls) -> Iterator[None]:
        cls.depth += 1
        try:
            yield
        finally:
            cls.depth -= 1
            if not cls.depth and cls.is_pending:
                cls.is_pending = False
                raise KeyboardInterrupt


class Process:
    """A child in a session of its own, so that a Ctrl-C on the terminal reaches the benchmark alone."""

    def __init__(self, words: list[str], environment: dict[str, str] | None = None,
                 stdin: Path | None = None, stdout: Path | None = None, folder: Path | None = None) -> None:
        self.words = words
        self.errors = tempfile.TemporaryFile()
        with contextlib.ExitStack() as files:
            source = files.enter_context(open(stdin or os.devnull, "rb"))
            sink = files.enter_context(open(stdout, "wb")) if stdout else self.errors
            self.child = subprocess.Popen(words, stdin=source, stdout=sink, stderr=self.errors, cwd=folder,
                                          env=environment, start_new_session=True)
        self.pid = self.child.pid

    def has_ended(self) -> bool:
        return self.child.poll() is not None

    def kill(self) -> None:
        """Kills the child and its children. A child that was waited for has no id any more."""
        if self.child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def message(self) -> str:
        """The end of what the child printed, on one line."""
        size = self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, size - 300))
        return " ".join(self.errors.read().decode(errors="replace").split())

    def processor_seconds(self) -> float:
        """User and system time of all threads so far, without children."""
        return processor_seconds(self.pid)

    def forget_peak(self) -> None:
        """Restarts the measurement of peak memory, so that key derivation does not count."""
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def peak_bytes(self) -> int:
        return peak_bytes(self.pid)


def processor_seconds(pid: int) -> float:
    """User and system time of all threads of a process so far, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_bytes(pid: int) -> int:
    """The most memory that a process has had, its shared libraries included."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise Failed(f"/proc/{pid}/status has no VmHWM")


@contextlib.contextmanager
def guarded(limit: float, *processes: Process) -> Iterator[threading.Event]:
    """Kills the processes when the block takes longer than `limit` seconds; the event then is set."""
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        for process in processes:
            process.kill()

    timer = threading.Timer(limit, end)
    timer.daemon = True
    timer.start()
    try:
        yield is_late
    finally:
        timer.cancel()


def run(words: list[str], limit: float, daemon: Process | None = None, environment: dict[str, str] | None = None,
        stdout: Path | None = None, folder: Path | None = None, stdin: Path | None = None) -> float:
    """Runs a program to its end and returns the seconds that it took."""
    start = time.perf_counter()
    process = Process(words, environment, stdin, stdout, folder)
    try:
        with guarded(limit, process, *([daemon] if daemon else [])) as is_late:
            # Without a timeout, `wait` blocks in the kernel instead of polling.
            code = process.child.wait()
            seconds = time.perf_counter() - start
    except BaseException:
        process.kill()
        raise
    name = Path(words[0]).name
    if is_late.is_set():
        raise Late(f"{name}: not done after {limit:.0f} s")
    if code != 0:
        raise Failed(f"{name}: exit {code}: {process.message()}")
    process.errors.close()
    return seconds


def can_drop_caches() -> bool:
    return os.access(DROP_CACHES, os.W_OK) and os.geteuid() == 0


def drop_caches() -> None:
    """Empties the kernel's caches of pages, names and inodes."""
    DROP_CACHES.write_text("3")


def bytes_on_disk(folder: Path) -> int:
    """The blocks that the files below `folder` occupy."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512
    return total


def is_mounted(path: Path) -> bool:
    return f" {path} " in Path("/proc/self/mountinfo").read_text()


def clear_mount(path: Path) -> None:
    """Removes a mount from the tree, whatever the state of its daemon."""
    for words in (["fusermount3", "-uz", str(path)], ["umount", "-l", str(path)]):
        if not is_mounted(path):
            return
        with contextlib.suppress(Failed, FileNotFoundError):
            run(words, limit=20)
