import AlbumTestSupport
import Testing

/// Connections of HTTP/2 and HTTP/1.1, below what a page asks for: fast where somebody is logged in, bounded
/// for all.
@Suite(.serialized, .timeLimit(.minutes(30))) struct ConnectionTests {
  @Test func anUploadIsNotHeldUpByWindows() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        from http2 import Connection, USUAL, RESET, ACK, PING
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            empty = browser.albums()["Empty"]
            def begin(name, size):
                return browser.post("/api/uploads", dict(
                    album=empty["id"], folders=[], name=name, size=size, modified=1))["upload"]
            def put(upload, offset): return "PUT", f"/api/uploads/{upload}?offset={offset}"
            connection = Connection(server, browser.cookie)
            # A slice of any length arrives, with a wide window only where it is long.
            content = random.Random(1).randbytes(5_000_000)
            for number, size in enumerate((0, 1, 100, USUAL - 1, USUAL, USUAL + 1, 70_000, 200_000, 1_114_110, 1_114_112,
                                           1_300_000, 5_000_000)):
                upload = begin(f"slice-{number}.jpg", size)
                stream = connection.request(*put(upload, 0), length=size, end=size == 0)
                if size > 2 * USUAL:
                    connection.until(lambda: connection.windows[stream] > USUAL)
                    assert connection.windows[stream] >= 1 << 20, connection.windows
                if size: connection.data(stream, content[:size], end=True)
                assert connection.reply(stream) == 200, (size, connection.status, connection.bodies)
                assert json.loads(connection.bodies[stream]) == {"offset": size}
                assert connection.windows[stream] <= USUAL + (1 << 20)
                assert browser.post(f"/api/uploads/{upload}/finish")["state"] in ("saved", "there")
            assert get(point + "/Empty/Photo/slice-11.jpg") == content
            # Many at once.
            sent = {}
            for number in range(30):
                upload = begin(f"many-{number}.jpg", 100_000)
                sent[upload] = connection.request(*put(upload, 0), length=100_000, end=False)
            for stream in sent.values(): connection.data(stream, content[:60_000])
            for stream in sent.values(): connection.data(stream, content[60_000:100_000], end=True)
            assert [connection.reply(stream) for stream in sent.values()] == [200] * 30
            # One that the page gave up keeps what had come, and the connection goes on.
            for size in (50, 300_000, 2_000_000):
                upload = begin(f"given up {size}.jpg", 5_000_000)
                stream = connection.request(*put(upload, 0), length=5_000_000, end=False)
                connection.data(stream, content[:size])
                connection.send(RESET, 0, stream, bytes([0, 0, 0, 8]))
                assert eventually(lambda: browser.get(f"/api/uploads/{upload}")["offset"]) <= size
            stream = connection.request("GET", "/api/session")
            assert connection.reply(stream) == 200 and not connection.is_closed
        """)
    }
  }

  /// Frames that ask for nothing and cost the server a look each.
  @Test(arguments: ["connection", "request", "past request"])
  func updatesOfWindowsWithoutEndEndTheConnection(target: String) throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        from http2 import Connection, WINDOW
        import struct
        def flood(count, target="\(target)"):
            connection = Connection(server)
            stream = connection.request("PUT", "/api/uploads/x?offset=0", length=8 << 20, end=False)
            if target == "past request":
                stream = connection.request("GET", "/")
                assert connection.reply(stream) == 200
            number = 0 if target == "connection" else stream
            frame = struct.pack(">I", 4)[1:] + struct.pack(">BBII", WINDOW, 0, number, 1)
            try:
                for _ in range(count // 1000): connection.socket.sendall(frame * 1000)
                connection.catch_up()
            except (OSError, AssertionError): return True
            return False
        with Server(S) as server:
            assert not flood(9_000)
            assert flood(2_000_000)
        """)
    }
  }

  @Test func nobodyWithoutASessionMakesTheServerHoldMuch() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        from http2 import Connection, USUAL, RESET
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            for cookie in (None, "x" * 43):
                connection = Connection(server, cookie)
                streams = [connection.request("PUT", "/api/uploads/x?offset=0", length=8 << 20, end=False) for _ in range(20)]
                for stream in streams: connection.until(lambda: stream in connection.status)
                connection.catch_up()
                assert max(connection.windows[stream] for stream in streams) <= USUAL, connection.windows
            # Nor does a session for what is no upload.
            connection = Connection(server, browser.cookie)
            stream = connection.request("POST", "/api/albums", length=1 << 20, end=False)
            connection.catch_up()
            assert connection.windows[stream] <= USUAL
            # More streams than a page ever has are refused, and end the connection of a client that ignores that.
            connection = Connection(server)
            connection.until(lambda: connection.is_set)
            streams = [connection.request("POST", "/api/login", length=100, end=False) for _ in range(80)]
            assert connection.until(lambda: connection.is_closed or streams[-1] in connection.ended)
            connection = Connection(server)
            try:
                for _ in range(200): connection.request("POST", "/api/login", length=100, end=False)
            except (ConnectionError, ssl.SSLError): connection.is_closed = True
            connection.until(lambda: connection.is_closed)
            assert connection.is_closed
            # So does one that begins and gives up without an end.
            connection = Connection(server)
            try:
                for _ in range(2000):
                    stream = connection.request("GET", "/")
                    connection.send(RESET, 0, stream, bytes([0, 0, 0, 8]))
                    connection.read(0)
            except (ConnectionError, ssl.SSLError): connection.is_closed = True
            assert connection.until(lambda: connection.is_closed or connection.goodbye is not None)
            assert browser.get("/api/session") and server.process.poll() is None
        """)
    }
  }

  @Test func aConnectionWithoutRequestsEnds() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        from http2 import Connection
        with Server(S, delays="idle-connection=3") as server:
            silent, used, deaf = (Connection(server) for _ in range(3))
            assert used.reply(used.request("GET", "/")) == 200
            # This one never says that it has understood the end.
            deaf.take = lambda kind, flags, stream, body: None
            for connection in (silent, used, deaf):
                connection.until(lambda: connection.is_closed)
                assert connection.is_closed
            assert silent.goodbye == (0, 0) and used.goodbye == (1, 0), (silent.goodbye, used.goodbye)
            # The end of the server does not wait for those who do nothing.
            idle = Connection(server)
            idle.reply(idle.request("GET", "/"))
            server.stop()
            assert server.process.returncode == 0
            idle.until(lambda: idle.is_closed)
            assert idle.is_closed
        """)
    }
  }

  @Test func whoAsksWhetherToSendABodyIsAnsweredAtOnce() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            upload = browser.post("/api/uploads", dict(
                album=browser.albums()["Empty"]["id"], folders=[], name="a.jpg", size=10, modified=1))["upload"]
            raw = browser.connect(); raw.connect(); raw.sock.settimeout(60)
            for offset, last in ((0, "keep-alive"), (5, "close")):
                raw.sock.sendall((f"PUT /api/uploads/{upload}?offset={offset} HTTP/1.1\\r\\nHost: 127.0.0.1:{server.port}\\r\\n"
                    f"Origin: {browser.origin}\\r\\nX-Albumfs: 1\\r\\nCookie: __Host-albumfs={browser.cookie}\\r\\n"
                    f"Content-Length: 5\\r\\nConnection: {last}\\r\\nExpect: 100-continue\\r\\n\\r\\n").encode())
                assert raw.sock.recv(1000) == b"HTTP/1.1 100 Continue\\r\\n\\r\\n"
                raw.sock.sendall(b"12345")
                reply = b""
                while b"offset" not in reply: reply += raw.sock.recv(4000)
                assert reply.startswith(b"HTTP/1.1 200 OK\\r\\n") and reply.endswith(b'{"offset":%d}' % (offset + 5)), reply
            assert browser.post(f"/api/uploads/{upload}/finish")["state"] == "saved"
        """)
    }
  }
}
