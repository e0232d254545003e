"""A client of HTTP/2 that sends the frames that a test wants, and no others."""
import select, socket, ssl, struct, time

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
USUAL = 65_535


class Connection:
    """One connection. `windows` counts what the server allows beyond what was sent, by stream; 0 is the connection."""

    def __init__(self, server, cookie=None, settings=b""):
        self.server, self.cookie = server, cookie
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        self.socket = context.wrap_socket(socket.create_connection((server.host, server.port)))
        assert self.socket.selected_alpn_protocol() == "h2"
        self.pending, self.windows, self.status, self.bodies, self.ended = b"", {0: USUAL}, {}, {}, set()
        self.is_closed, self.is_set, self.goodbye, self.next, self.pings = False, False, None, 1, 0
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.send(SETTINGS, 0, 0, settings)

    def send(self, kind, flags, stream, body=b""):
        self.socket.sendall(struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body)

    @staticmethod
    def text(value):
        """A string of HPACK, as it is."""
        raw = value.encode()
        assert len(raw) < 127
        return bytes([len(raw)]) + raw

    def request(self, method, path, length=None, end=True, more=()):
        """Sends the head of a request; returns its stream."""
        stream, self.next = self.next, self.next + 2
        fields = [(":method", method), (":scheme", "https"), (":authority", f"{self.server.host}:{self.server.port}"),
                  (":path", path), ("x-albumfs", "1"), *more]
        if method not in ("GET", "HEAD"): fields.append(("origin", f"https://{self.server.host}:{self.server.port}"))
        if self.cookie: fields.append(("cookie", f"__Host-albumfs={self.cookie}"))
        if length is not None: fields.append(("content-length", str(length)))
        block = b"".join(b"\0" + self.text(name) + self.text(value) for name, value in fields)
        self.windows[stream] = USUAL
        self.send(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, block)
        return stream

    def data(self, stream, body, end=False):
        """Sends a part of a body, and waits for the windows as often as it must."""
        while True:
            self.until(lambda: min(self.windows[0], self.windows[stream]) > 0 or not body or stream in self.ended)
            if stream in self.ended: return
            count = min(16_384, self.windows[0], self.windows[stream], len(body))
            part, body = body[:count], body[count:]
            self.windows[0] -= count
            self.windows[stream] -= count
            self.send(DATA, END_STREAM if end and not body else 0, stream, part)
            if not body: return

    def until(self, is_so):
        """Reads what comes until something is so; true if it is."""
        end = time.monotonic() + 300
        while not is_so():
            left = end - time.monotonic()
            if left < 0 or self.is_closed: return False
            self.read(left)
        return True

    def catch_up(self):
        """Reads all that the server had to say when it got a ping."""
        before = self.pings
        self.send(PING, 0, 0, bytes(8))
        assert self.until(lambda: self.pings > before), "no reply to a ping"

    def read(self, seconds):
        if not self.socket.pending() and not select.select([self.socket], [], [], seconds)[0]: return
        try: found = self.socket.recv(1 << 16)
        except (ConnectionError, ssl.SSLError): found = b""
        if not found: self.is_closed = True
        self.pending += found
        while len(self.pending) >= 9:
            length = int.from_bytes(self.pending[:3], "big")
            if len(self.pending) < 9 + length: return
            kind, flags, stream = struct.unpack(">BBI", self.pending[3:9])
            body, self.pending = self.pending[9:9 + length], self.pending[9 + length:]
            self.take(kind, flags, stream, body)

    def take(self, kind, flags, stream, body):
        if kind == WINDOW: self.windows[stream] = self.windows.get(stream, USUAL) + struct.unpack(">I", body)[0]
        elif kind == DATA: self.bodies[stream] = self.bodies.get(stream, b"") + body
        elif kind == HEADERS: self.status.setdefault(stream, []).append(STATUS.get(body[0]) or body)
        elif kind == RESET: self.ended.add(stream)
        elif kind == GOAWAY: self.goodbye = struct.unpack(">II", body[:8])
        elif kind == SETTINGS and not flags & ACK:
            for at in range(0, len(body), 6):
                name, value = struct.unpack(">HI", body[at:at + 6])
                assert name != 4, "the server widens the windows of all streams"
            self.send(SETTINGS, ACK, 0)
            self.is_set = True
        elif kind == PING and flags & ACK: self.pings += 1
        elif kind == PING: self.send(PING, ACK, 0, body)
        if kind in (DATA, HEADERS) and flags & END_STREAM: self.ended.add(stream)

    def reply(self, stream):
        """Waits for the end of a reply; returns its status where HPACK has a number for it."""
        assert self.until(lambda: stream in self.ended), (stream, self.is_closed, self.goodbye)
        return self.status[stream][-1] if stream in self.status else None


STATUS = {0x88: 200, 0x89: 204, 0x8a: 206, 0x8b: 304, 0x8c: 400, 0x8d: 404, 0x8e: 500}
