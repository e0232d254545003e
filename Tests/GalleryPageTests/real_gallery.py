"""Runs a real gallery on a store of its own, for what needs more than the mock server."""

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Waiting"))
from waiting import eventually

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")


def parser_of_programs(description):
    """Returns the parser of a script's command line, which names the directory of the programs that it uses."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=Path(__file__).resolve().parents[2] / ".build" / "debug",
                        help="the directory of albumfs and its helpers")
    return parser


def chosen_programs(description):
    """Reads the command line of a script that has no other options; returns that directory."""
    return parser_of_programs(description).parse_args().programs.resolve()


def wait_until(is_so, message):
    """Waits until a call returns something true, and returns that."""
    try:
        return eventually(is_so)
    except AssertionError:
        raise AssertionError(message) from None


class Gallery:
    """A store with one space below `folder`, and `albumfs serve` on it; `programs` is the directory of albumfs."""

    def __init__(self, programs, folder, password):
        self.folder, self.password = folder, password
        self.store, self.mount_point, self.log = folder / "store", folder / "mount", folder / "log"
        self.key = folder / "password"
        self.key.write_text(password + "\n")
        for name in ("store", "mount", "runtime", "home"):
            (folder / name).mkdir(mode=0o700)
        self.environment = dict(os.environ, HOME=str(folder / "home"), XDG_RUNTIME_DIR=str(folder / "runtime"),
                                PATH=f"{programs}:{os.environ['PATH']}")
        self.process = None
        self.albumfs("init", "-q", "--password-file", self.key, self.store)

    def albumfs(self, *words):
        subprocess.run(["albumfs", *map(str, words)], env=self.environment, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, timeout=300)

    @contextlib.contextmanager
    def mounted(self):
        """Mounts the space while no gallery runs; waits for the thumbnails at the end."""
        self.albumfs("mount", "-q", "--password-file", self.key, self.store, self.mount_point)
        try:
            yield self.mount_point
            self.albumfs("sync", self.mount_point)
        finally:
            self.albumfs("umount", "-q", self.mount_point)

    def start(self, *options):
        """Returns the gallery's address."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["albumfs", "serve", str(self.store), "--port", str(port), *options], env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: b"Ctrl-C" in self.log.read_bytes(), "the gallery does not start")
        return f"https://127.0.0.1:{port}/"

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
