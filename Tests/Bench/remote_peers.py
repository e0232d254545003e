"""Those who keep their files in an object storage: albumfs and others. Each machine that mounts them has its own home."""
from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from distant import BUCKET, KEY, SECRET, free_ports, put_folder
from measuring import Failed, Process, clear_mount, guarded, is_mounted, run

LIMIT = 1800.0
JUICEFS = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "albumfs-tests/juicefs-1.4.2/juicefs"


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


class Catalogs:
    """Redis, which keeps the catalogs of JuiceFS: all of its machines need it, so it is as far away as the storage."""
    # Debian's redis-tools has the server under this name; the package of the server would start one on each machine.
    program = Path("/usr/bin/redis-check-rdb")

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "redis-server").symlink_to(self.program)
        self.port = free_ports(1)[0]
        self.process = Process([str(folder / "redis-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--dir",
                                str(folder), "--save", "", "--appendonly", "yes", "--databases", "1024"])
        with guarded(LIMIT, self.process):
            while not self.replies():
                if self.process.has_ended():
                    raise Failed(f"Redis does not start: {self.process.message()}")
                time.sleep(0.05)

    def replies(self) -> bool:
        words = ["redis-cli", "-p", str(self.port), "ping"]
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout == b"PONG\n"

    def end(self) -> None:
        self.process.kill()


class JuiceFS(Distant):
    """JuiceFS with its encryption on this side. What is written waits on this machine, as with albumfs."""
    name, program = "JuiceFS", str(JUICEFS)
    # The address of Redis, and the number of its database for each prefix.
    catalogs = ""
    databases: dict[str, int] = {}

    @property
    def catalog(self) -> str:
        database = self.databases.setdefault(self.prefix, len(self.databases))
        return f"redis://{self.catalogs}/{database}"

    def make(self) -> None:
        self.environment["JFS_RSA_PASSPHRASE"] = "bench"
        key = self.folder / "key.pem"
        run(["openssl", "genrsa", "-aes256", "-passout", "pass:bench", "-out", str(key), "2048"], LIMIT)
        run([self.program, "format", "--storage", "s3", "--bucket", f"{self.endpoint}/{BUCKET}", "--access-key", KEY,
             "--secret-key", SECRET, "--encrypt-rsa-key", str(key), "--trash-days", "0", self.catalog,
             self.prefix.lower()], LIMIT, environment=self.environment)

    def mount(self) -> None:
        self.environment["JFS_RSA_PASSPHRASE"] = "bench"
        self.start(self.mount_point, self.program, "mount", "--writeback", "--cache-dir", self.folder / "cache",
                   "--no-syslog", "--no-usage-report", "--backup-meta", "0", self.catalog, self.mount_point)

    def wait_until_sent(self) -> None:
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if "\njuicefs_staging_blocks 0\n" in (self.mount_point / ".stats").read_text():
                return
            time.sleep(0.05)
        raise Failed("JuiceFS has not sent everything")
