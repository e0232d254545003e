"""An object storage at a distance: SeaweedFS on this machine, behind a network that delays all and counts requests."""
from __future__ import annotations

import asyncio
import collections
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from measuring import Failed, Process, run

KEY, SECRET, BUCKET = "benchkey", "benchsecret", "bench"
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
START_LIMIT = 60.0


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def status(address: str, *options: str) -> str:
    words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *options, address]
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout


def put(address: str) -> bool:
    """Makes a bucket, or an empty object."""
    return status(address, "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", f"{KEY}:{SECRET}", "-X", "PUT", "-H",
                  f"x-amz-content-sha256: {EMPTY_SHA256}") == "200"


def put_folder(endpoint: str, name: str) -> None:
    """s3fs mounts only a folder that is there."""
    if not put(f"{endpoint}/{BUCKET}/{name}/"):
        raise Failed(f"the folder {name} cannot be made")


class Server:
    """SeaweedFS, as scripts/dependencies --bench --remote installs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        program = cache / "albumfs-tests/seaweedfs-4.48/weed"
        if not program.exists():
            raise Failed(f"{program} is missing: run scripts/dependencies --bench --remote")
        (folder / "data").mkdir(parents=True)
        (folder / "s3.json").write_text(
            '{"identities": [{"name": "bench", "actions": ["Admin", "Read", "Write", "List", "Tagging"],'
            f'"credentials": [{{"accessKey": "{KEY}", "secretKey": "{SECRET}"}}]}}]}}')
        ports = free_ports(8)
        names = ["master", "volume", "filer", "s3"]
        words = [f"-{name}.port={port}" for name, port in zip(names, ports)]
        words += [f"-{name}.port.grpc={port}" for name, port in zip(names, ports[4:])]
        words += [f"-{name}.localSocket={folder}/{name}.sock" for name in ("filer", "s3")]
        self.port = ports[3]
        self.process = Process(
            [str(program), f"-logdir={folder}", "server", f"-dir={folder}/data", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
             "-master.volumeSizeLimitMB=512", "-volume.max=0", "-filer", "-s3", f"-s3.config={folder}/s3.json",
             "-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0", *words], stdout=folder / "log")
        end = time.monotonic() + START_LIMIT
        while status(f"http://127.0.0.1:{self.port}/") != "403":
            if self.process.has_ended() or time.monotonic() > end:
                raise Failed(f"SeaweedFS does not start: {self.process.message()}")
            time.sleep(0.1)
        while not put(f"http://127.0.0.1:{self.port}/{BUCKET}"):
            if time.monotonic() > end:
                raise Failed("SeaweedFS makes no bucket")
            time.sleep(0.1)

    def end(self) -> None:
        self.process.kill()


def kind_of(method: str, target: str) -> str:
    """The method, or LIST."""
    marks = ("list-type=", "?prefix=", "&prefix=", "delimiter=")
    return "LIST" if method == "GET" and any(mark in target for mark in marks) else method


# The method and the target of a request, and its further lines.
Note = Callable[[str, str, list[str]], None]


class RequestReader:
    """Reads the requests of one connection as they pass, and notes each."""

    def __init__(self, note: Note) -> None:
        self.note = note
        self.head = b""
        self.body_left = 0

    def read(self, data: bytes) -> None:
        while data:
            if self.body_left:
                passed = min(self.body_left, len(data))
                self.body_left -= passed
                data = data[passed:]
                continue
            self.head += data
            head, separator, data = self.head.partition(b"\r\n\r\n")
            if not separator:
                return
            self.head = b""
            first, *lines = head.decode("latin-1").split("\r\n")
            method, target, _ = first.split(" ", 2)
            self.body_left = int(field(lines, "content-length") or 0)
            self.note(method, target, lines)


def field(lines: list[str], name: str) -> str:
    """The value of a field of a request; empty if there is none."""
    return next((line.partition(":")[2].strip() for line in lines if line.lower().startswith(f"{name}:")), "")


class Network:
    """Delays what goes each way by half of the round trip. Notes each request, by default by counting them; `note` is
    None where it is no HTTP that passes."""

    def __init__(self, port: int, note: Note | None | Literal["count"] = "count") -> None:
        self.target = port
        self.note = self.count if note == "count" else note
        self.delay = 0.0
        self.counts: collections.Counter[str] = collections.Counter()
        self.loop = asyncio.new_event_loop()
        # The loop itself keeps no tasks alive.
        self.tasks: set[asyncio.Task[None] | None] = set()
        self.port = 0
        is_up = threading.Event()
        threading.Thread(target=self.serve, args=(is_up,), daemon=True).start()
        is_up.wait(START_LIMIT)

    def set_round_trip(self, milliseconds: float) -> None:
        self.delay = milliseconds / 2000

    def count(self, method: str, target: str, _: list[str]) -> None:
        self.counts[kind_of(method, target)] += 1

    def take_counts(self) -> collections.Counter[str]:
        """The requests since the last call."""
        taken, self.counts = self.counts, collections.Counter()
        return taken

    def serve(self, is_up: threading.Event) -> None:
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.connect, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        is_up.set()
        self.loop.run_forever()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            await self.join(reader, writer)
        finally:
            self.tasks.discard(task)

    async def join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        for one in (writer, back):
            one.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        requests = RequestReader(self.note) if self.note else None
        await asyncio.gather(self.pass_on(reader, back, requests), self.pass_on(there, writer, None),
                             return_exceptions=True)

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                      requests: RequestReader | None) -> None:
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(256)

        async def receive() -> None:
            data = b"-"
            while data:
                data = await reader.read(1 << 18)
                if requests:
                    requests.read(data)
                await waiting.put((self.loop.time() + self.delay, data))

        receiving = asyncio.ensure_future(receive())
        try:
            while True:
                due, data = await waiting.get()
                if (wait := due - self.loop.time()) > 0:
                    await asyncio.sleep(wait)
                if not data:
                    break
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            receiving.cancel()
            writer.close()


def settle() -> None:
    """Leaves nothing for the disk to write in the next row."""
    run(["sync"], START_LIMIT)
