"""Runs the programs of albumfs on one store, and leaves nothing behind.

Every command has a time limit. Files of a mount are touched only inside `Store.session`, whose guard
kills the daemon when the session takes too long: each call that hangs on the mount then fails.
"""
from __future__ import annotations

import contextlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Waiting"))
from waiting import eventually

# Seconds. Only a program that hangs exceeds them, on a busy machine too.
COMMAND_LIMIT = 180.0
SESSION_LIMIT = 240.0
# The exit code of a command that waited for as long as it was told to.
TIMED_OUT = 42
# Two accounts that share a store, and their group: daemon, bin and users, which every Debian has.
ACCOUNTS = (1, 2)
GROUP = 100


class Failed(Exception):
    """A program failed, or took longer than its limit."""


def run(words: list[str], limit: float = COMMAND_LIMIT, check: bool = True,
        environment: dict[str, str] | None = None, accept: int = 0) -> str:
    """Runs a program without input and returns what it prints. The exit code `accept` is no failure."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(words)}: not done after {limit:.0f} s") from None
    if check and done.returncode not in (0, accept):
        raise Failed(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def as_account(user: int, body: Callable[[], Any]) -> Any:
    """Runs `body` in a child process of another user and returns its result. Only root can."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([GROUP])
            os.setresgid(GROUP, GROUP, GROUP)
            os.setresuid(user, user, user)
            os.umask(0o022)
            outcome = pickle.dumps((True, body()))
        except BaseException as error:
            outcome = pickle.dumps((False, str(error) or repr(error)))
        try:
            with open(writing, "wb") as pipe:
                pipe.write(outcome)
        finally:
            # Nothing of the parent may happen twice.
            os._exit(0)
    os.close(writing)
    try:
        with open(reading, "rb") as pipe:
            answer = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    is_done, result = pickle.loads(answer) if answer else (False, "it ended")
    if not is_done:
        raise Failed(f"account {user}: {result}")
    return result


def is_mounted(path: Path) -> bool:
    return f" {path} " in Path("/proc/self/mountinfo").read_text()


def is_albumfs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith("albumfs")
    except OSError:
        return False


def has_ended(pid: int) -> bool:
    """A zombie has ended when its other threads have ended too."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state == "Z" and len(os.listdir(f"/proc/{pid}/task")) <= 1
    except OSError:
        return True


def kill(pid: int) -> None:
    """Kills a daemon and waits for its end."""
    if is_albumfs(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    try:
        eventually(has_ended, pid)
    except AssertionError:
        raise Failed(f"the daemon {pid} does not end") from None


def clear_mount(path: Path) -> None:
    """Removes a mount from the tree, whatever the state of its daemon."""
    for words in (["fusermount3", "-uz", str(path)], ["umount", "-l", str(path)]):
        if not is_mounted(path):
            return
        with contextlib.suppress(Failed, FileNotFoundError):
            run(words, limit=20, check=False)


def clean_up(top: Path) -> None:
    """Ends everything that stores below `top` left behind, and removes `top`."""
    for note in top.glob("*/daemon"):
        with contextlib.suppress(Failed, OSError, ValueError):
            kill(int(note.read_text()))
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        path = line.split(" ")[4]
        if path.startswith(f"{top}/"):
            clear_mount(Path(path))
    shutil.rmtree(top, ignore_errors=True)
    clear_mount(top)
    shutil.rmtree(top, ignore_errors=True)


def make_top(size: str) -> tuple[Path, bool]:
    """Makes a directory for all stores; returns true if it is a separate disk in memory, of this size."""
    top = Path(tempfile.mkdtemp(prefix="albumfs-attack-"))
    # Accounts that share a store reach it.
    top.chmod(0o711)
    if size == "none":
        return top, False
    try:
        run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=711", "albumfs-attack", str(top)])
        return top, True
    except (Failed, FileNotFoundError) as failure:
        print(f"no tmpfs can be mounted, so the stores lie in {top}: {failure}", file=sys.stderr)
        return top, False


def can_share(albumfs: Path, top: Path) -> bool:
    """True if other accounts can run the program and reach the stores."""
    def try_it() -> None:
        run([str(albumfs), "--version"])
        top.stat()

    try:
        as_account(ACCOUNTS[0], try_it)
        return True
    except (Failed, OSError):
        return False


class Store:
    """One store and its mount points, in a directory of its own. Two accounts may share it."""

    def __init__(self, folder: Path, albumfs: Path, is_shared: bool = False) -> None:
        folder.mkdir()
        self.folder = folder
        self.albumfs = str(albumfs)
        self.path = folder / "store"
        self.mount_point = folder / "mnt"
        self.mount_point.mkdir()
        self.note = folder / "daemon"
        self.environment = dict(os.environ, ALBUMFS_TESTS_ALLOW_WEAK_PASSWORDS="yes", HOME=str(folder),
                                XDG_STATE_HOME=str(folder / "state"), LC_ALL="C.UTF-8")
        # Other tests forbid the chaff that the game is about.
        self.environment.pop("ALBUMFS_TESTS_FORBID_CHAFF", None)
        self.is_shared = is_shared
        if is_shared:
            self.prepare_sharing()

    @property
    def mounted(self) -> str:
        """What the sessions mount."""
        return str(self.path)

    def prepare_sharing(self) -> None:
        self.environment.pop("XDG_RUNTIME_DIR", None)
        os.chown(self.folder, ACCOUNTS[0], GROUP)
        self.folder.chmod(0o2770)
        # As Owners.md says under "A store for two".
        self.path.mkdir()
        os.chown(self.path, ACCOUNTS[0], GROUP)
        self.path.chmod(0o2770)
        for account in ACCOUNTS:
            point = self.folder / f"mnt-{account}"
            point.mkdir()
            os.chown(point, account, GROUP)

    def as_account(self, user: int, body: Callable[[], Any]) -> Any:
        """Runs `body` as one of the accounts that share the store, with a mount point of its own."""
        def act() -> Any:
            self.mount_point = self.folder / f"mnt-{user}"
            return body()

        return as_account(user, act)

    def call(self, *words: str, limit: float = COMMAND_LIMIT, check: bool = True, accept: int = 0) -> str:
        return run([self.albumfs, *words], limit, check, self.environment, accept)

    def password_file(self, password: str) -> str:
        path = self.folder / f"password-{password}"
        if not path.exists():
            path.write_text(password + "\n")
        return str(path)

    def init(self, password: str, segment: int, chaff: int | None = None) -> None:
        options = [] if chaff is None else ["--chaff", str(chaff)]
        self.call("init", "-q", "--kdf", "interactive", "--segment-size", str(segment), *options,
                  "--password-file", self.password_file(password), str(self.path))

    def add_space(self, password: str) -> None:
        self.call("space", "add", "-q", "--password-file", self.password_file(password), str(self.path))

    def change_password(self, old: str, new: str) -> None:
        self.call("space", "password", "-q", "--password-file", self.password_file(old),
                  "--new-password-file", self.password_file(new), str(self.path))

    def add_key(self, password: str, another: str) -> None:
        self.call("space", "add-key", "-q", "--password-file", self.password_file(password),
                  "--new-password-file", self.password_file(another), str(self.path))

    def remove_key(self, password: str) -> None:
        self.call("space", "remove-key", "-q", "--password-file", self.password_file(password), str(self.path))

    def recovery_key(self, password: str) -> str:
        return self.call("space", "recovery-key", "--password-file", self.password_file(password),
                         str(self.path)).strip()

    def check(self, password: str) -> dict:
        """The output of `albumfs check --json`; damage is no failure of the command here."""
        text = self.call("check", "-q", "--json", "--password-file", self.password_file(password),
                         str(self.path), check=False)
        try:
            return json.loads(text)
        except ValueError:
            raise Failed(f"albumfs check prints no JSON: {text[:200]}") from None

    def chaff_status(self, password: str, sessions: int) -> dict:
        """The output of `albumfs chaff status --json` for this many sessions."""
        return json.loads(self.call("chaff", "status", "--json", "--sessions", str(sessions),
                                    "--password-file", self.password_file(password), str(self.path)))

    @contextlib.contextmanager
    def session(self, password: str, grace: int, is_killed: bool) -> Iterator[Path]:
        """Mounts a space, lets the caller work in it, then unmounts it or kills its daemon."""
        self.call("mount", "-q", "--grace", str(grace), "--password-file", self.password_file(password),
                  self.mounted, str(self.mount_point))
        pid = int(json.loads(self.call("status", "--json", str(self.mount_point)))["pid"])
        self.note.write_text(str(pid))
        is_late = threading.Event()

        def end_it() -> None:
            is_late.set()
            kill(pid)

        guard = threading.Timer(SESSION_LIMIT, end_it)
        guard.daemon = True
        guard.start()
        try:
            yield self.mount_point
            if is_killed:
                kill(pid)
            self.call("umount", "-q", str(self.mount_point))
        except OSError as error:
            if is_late.is_set():
                raise Failed(f"a session took longer than {SESSION_LIMIT:.0f} s") from error
            raise
        finally:
            guard.cancel()
            if is_mounted(self.mount_point) or not has_ended(pid):
                kill(pid)
                clear_mount(self.mount_point)
            self.note.unlink()
