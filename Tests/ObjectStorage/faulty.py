"""A network between a client and an object storage that loses what it is told to.

    faulty.py HOST:PORT FILE [--every-third] [--ignores-conditions] [--ipv6] [--late SECONDS]

Prints its port. Standard input has blocks of lines, `METHOD FAULT`, each ended by a blank line, which a line of
output confirms. The next request of that method gets the fault. It ends with its standard input.

| fault | the client sees |
|---|---|
| 503 | a server that is busy, and does nothing |
| reset | no reply; the server has got nothing |
| lost | no reply; the server has done its part |
| cut | half of the content |
| hold | nothing, for ever; FILE gets a line |
| twice | the reply to the second of two same requests, which both arrive |
| wrong | as many bytes as there are, and others; of a HEAD the length 0 |
| pass | nothing unusual |

While there is a file FILE.away, every request gets `reset`; while there is a file FILE.silent, every one gets `hold`.
With --ignores-conditions, a server that refuses to save seems to have saved. With --late, each request gets there
later. FILE.requests has a line for each request.
"""
from __future__ import annotations

import http.client
import http.server
import itertools
import os
import socket
import socketserver
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Waiting"))
from waiting import be_slow

UPSTREAM = sys.argv[1]
FAULTS = itertools.cycle(["503", "lost", "reset", "cut"]) if "--every-third" in sys.argv else None
IGNORES_CONDITIONS = "--ignores-conditions" in sys.argv
LATE = float(sys.argv[sys.argv.index("--late") + 1]) if "--late" in sys.argv else 0
lock = threading.Lock()
expected: list[tuple[str, str]] = []
count = 0


def fault_of(method: str) -> str | None:
    """What happens to the next request of a method."""
    global count
    if os.path.exists(sys.argv[2] + ".away"):
        return "reset"
    if os.path.exists(sys.argv[2] + ".silent"):
        return "hold"
    with lock:
        for place, (other, fault) in enumerate(expected):
            if other == method:
                del expected[place]
                return fault
        count += 1
        return next(FAULTS) if FAULTS and count % 3 == 0 else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: object) -> None:
        pass

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = fault_of(self.command)
        with open(sys.argv[2] + ".requests", "a") as requests:
            requests.write(f"{time.monotonic():.3f} {self.command} {self.path} {self.headers.get('Range', '')}\n")
        if LATE:
            be_slow(LATE)
        if fault == "reset":
            self.close_connection = True
            return
        if fault == "hold":
            with open(sys.argv[2], "a") as held:
                held.write(f"{self.command} {self.path}\n")
            threading.Event().wait()
        if fault == "503":
            self.answer(503, {}, b"<Error><Code>SlowDown</Code></Error>")
            return
        for _ in range(2 if fault == "twice" else 1):
            status, headers, content = self.ask(body)
        if fault == "lost":
            self.close_connection = True
            return
        if fault == "wrong" and self.command == "HEAD":
            headers["Content-Length"] = "0"
        if fault == "wrong":
            content = content[::-1]
        if IGNORES_CONDITIONS and status == 412:
            status = 200
            headers["ETag"] = '"seems-saved"'
        self.answer(status, headers, content, is_cut=fault == "cut")

    def ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        upstream = http.client.HTTPConnection(UPSTREAM, timeout=60)
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            upstream.putheader(name, value)
        upstream.endheaders(body)
        reply = upstream.getresponse()
        content = reply.read()
        headers = {name: value for name, value in reply.getheaders()
                   if name.lower() not in ("transfer-encoding", "connection")}
        if "Content-Length" not in headers:
            headers["Content-Length"] = str(len(content))
        upstream.close()
        return reply.status, headers, content

    def answer(self, status: int, headers: dict[str, str], content: bytes, is_cut: bool = False) -> None:
        self.send_response_only(status)
        for name, value in ({"Content-Length": str(len(content))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[:len(content) // 2] if is_cut else content)
        if is_cut:
            self.close_connection = True

    do_GET = do_PUT = do_HEAD = do_DELETE = pass_on


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        pass


if "--ipv6" in sys.argv:
    Server.address_family = socket.AF_INET6
server = Server(("::1" if "--ipv6" in sys.argv else "127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
block: list[tuple[str, str]] = []
for line in sys.stdin:
    if line.strip():
        method, fault = line.split()
        block.append((method, fault))
        continue
    with lock:
        expected.extend(block)
    block = []
    print("ready", flush=True)
