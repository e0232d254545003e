import AlbumTestSupport
import Testing

/// Requests that no page of the gallery makes.
@Suite(.serialized, .timeLimit(.minutes(30))) struct HostileTests {
  @Test func requestsFromElsewhereAreRefused() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            empty = browser.albums()["Empty"]
            body = json.dumps({"parent": None, "name": "Made elsewhere"})
            for origin in (None, "null", "https://elsewhere.example", f"http://127.0.0.1:{server.port}",
                           f"https://127.0.0.1:{server.port + 1}", browser.origin + ".example"):
                options = {"headers": {"Origin": origin}} if origin else {"drop": ["Origin"]}
                for path in ("/api/albums", "/api/login", "/api/lock", "/api/jobs"):
                    status, _, reply = browser.send("POST", path, body, **options)
                    assert (status, json.loads(reply)["error"]) == (403, "origin"), (origin, path, status)
                status, _, reply = browser.send("PUT", "/api/uploads/x?offset=0", b"", **options)
                assert status == 403
            # A form or a picture elsewhere cannot send the header.
            for method, path in (("POST", "/api/albums"), ("GET", "/api/albums"), ("GET", "/api/session"),
                                 ("POST", "/api/login"), ("GET", "/api/changes?since=0")):
                status, _, reply = browser.send(method, path, body if method == "POST" else None, drop=["X-Albumfs"])
                assert (status, json.loads(reply)["error"]) == (403, "origin"), path
            assert "Made elsewhere" not in browser.albums()
            # No cookie, half a cookie, another name.
            for cookie in (None, browser.cookie[:-1], browser.cookie + "x", "x" * 43, ""):
                other = Browser(server); other.cookie = cookie
                refused(401, "session", other.get, "/api/albums")
            status, _, _ = browser.send("GET", "/api/albums", headers={"Cookie": "albumfs=" + browser.cookie})
            assert status == 401
            # The page itself needs nothing, and there is nothing else.
            status, headers, page = Browser(server).send("GET", "/", drop=["X-Albumfs"])
            assert status == 200 and b"<title>Album</title>" in page and headers["content-type"].startswith("text/html")
            for path in ("/../etc/passwd", "/%2e%2e/etc/passwd", "/Trip", "/api", "/api/", "/api/nothing", "/.git"):
                assert browser.send("GET", path)[0] == 404, path
            for id in ("..", "%2e%2e", "a%00b", "x" * 500, "%ff"):
                assert browser.send("GET", "/api/original/" + id)[0] == 404, id
                assert browser.send("GET", "/api/thumb/" + id)[0] == 404, id
            assert browser.send("DELETE", "/api/albums")[0] in (404, 405)
            assert b"elsewhere" not in server.output()
        """)
    }
  }

  /// A page elsewhere may make its own name lead to this server.
  @Test func aHostThatIsNotTheServersOwnIsRefused() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        def ask(server, host, path="/", method="GET", more=()):
            raw = Browser(server).connect()
            raw.putrequest(method, path, skip_host=True)
            raw.putheader("Host", host)
            for name, value in more: raw.putheader(name, value)
            raw.endheaders()
            reply = raw.getresponse()
            return reply.status, reply.read()
        with Server(S) as server:
            port, own = server.port, socket.gethostname()
            names = ["localhost", "LOCALHOST.", "127.0.0.1", "127.0.0.2", "[::1]", own, own.upper()]
            if "." not in own: names.append(own + ".local")
            for name in names:
                for host in (name, f"{name}:{port}", f"{name}:1"): assert ask(server, host)[0] == 200, host
            for name in ("elsewhere.example", "localhost.elsewhere.example", "127.0.0.1.elsewhere.example", "10.9.8.7",
                         "[2001:db8::1]", "x" + own, own + ".elsewhere.example", "", "[", "a b", "*", "xn--localhost-cua",
                         "localhost:1.elsewhere.example", "[::1]elsewhere.example"):
                for path in ("/", "/main.js", "/api/session", "/api/localsend/v2/info"):
                    status, reply = ask(server, f"{name}:{port}", path)
                    assert status in (400, 421), (name, path, status)
                    assert b"<title>" not in reply and own.encode() not in reply, reply
            host = f"elsewhere.example:{port}"
            rebound = [("Origin", f"https://{host}"), ("X-Albumfs", "1"), ("Content-Length", "0")]
            status, reply = ask(server, host, "/api/login", "POST", rebound)
            assert status == 421 and json.loads(reply)["error"] == "origin", (status, reply)
            assert "terminal" in json.loads(reply)["detail"]
        # A certificate of one's own names the server.
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", W + "/k", "-out", W + "/c",
                        "-subj", "/CN=own", "-addext", "subjectAltName=DNS:Album.example,DNS:*.wild.example,IP:10.9.8.7"],
                       check=True, capture_output=True)
        with Server(S, "--certificate", W + "/c", "--key", W + "/k") as server:
            for name in ("album.example", "a.wild.example", "10.9.8.7", "localhost"):
                assert ask(server, name)[0] == 200, name
            for name in ("other.example", "wild.example", "a.b.wild.example", "10.9.8.8"):
                assert ask(server, name)[0] == 421, name
        """)
    }
  }

  @Test func linksInASpaceAreNotFollowedAndSaid() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            for name in ("Linked", "File"):
                os.mkdir(f"{point}/{name}"); os.rmdir(f"{point}/{name}/Photo")
            os.symlink("../Trip/Photo", point + "/Linked/Photo")
            with open(point + "/File/Photo", "w") as file: file.write("x")
            os.symlink("/etc/passwd", point + "/Trip/Photo/link.jpg")
            os.symlink("Trip", point + "/Other")
            albums = eventually(lambda: (found := browser.albums()) and {"Linked", "File"} <= found.keys() and found)
            assert "Other" not in albums
            trip = albums["Trip"]
            photos = browser.photos(trip)
            assert "link.jpg" not in [photo["name"] for photo in photos]
            def said(status, reply):
                fields = json.loads(reply)
                assert (status, fields["error"]) == (409, "link"), (status, reply)
                assert "link" in fields["detail"] and fields["detail"].endswith("."), fields
            for name in ("Linked", "File"):
                order = dict(album=albums[name]["id"], folders=[], name="a.jpg", size=3, modified=1)
                said(*browser.send("POST", "/api/uploads", json.dumps(order))[::2])
                job = browser.wait(browser.post("/api/jobs", dict(
                    kind="copy", ids=[photos[0]["id"]], album=albums[name]["id"]))["job"])
                assert [error["error"] for error in job["errors"]] == ["link"], job
            # Neither a name that a link has nor a folder that is one is written through.
            assert browser.upload(trip, "link.jpg", b"plain")["name"] == "link (2).jpg"
            os.symlink("../Trip", point + "/Empty/Photo2")
            refused(409, "exists", browser.upload, albums["Empty"], "a.jpg", b"abc", folders=["Photo2"])
            refused(409, "exists", browser.post, "/api/albums", dict(parent=None, name="Other"))
            # A photo that becomes a link is not one any more.
            photo, path = browser.photo(trip, "IMG_1.jpg"), point + "/Trip/Photo/IMG_1.jpg"
            os.remove(path); os.symlink("/etc/passwd", path)
            for request in (f"/api/original/{photo['id']}", f"/api/original/{photo['id']}?download=1",
                            f"/api/video/{photo['id']}"):
                status, _, reply = browser.send("GET", request)
                assert status in (404, 409) and b"root:" not in reply, (request, status, reply)
        """)
    }
  }

  @Test func bodiesHeadersAndConnectionsAreBounded() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            refused(413, "large", browser.ask, "POST", "/api/albums", b" " * (2 << 20))
            refused(413, "large", browser.ask, "POST", "/api/downloads", b'{"ids": ["' + b"x" * (9 << 20) + b'"]}')
            assert browser.get("/api/thumbs?ids=" + ",".join(["x"] * 200)) == bytes(800)
            refused(413, "large", browser.get, "/api/thumbs?ids=" + ",".join(["x"] * 201))
            for body in (b"", b"[]", b"{", b'{"name": 5}', b"\\xff\\xfe", b'{"name": "a", "parent": 1}'):
                refused(400, "invalid", browser.ask, "POST", "/api/albums", body)
            def talk(head, wait=40):
                raw = browser.connect(); raw.connect(); raw.sock.settimeout(wait)
                raw.sock.sendall(head)
                try: return raw.sock.recv(1000)
                except (ConnectionError, ssl.SSLError, socket.timeout) as error: return error
            host = f"Host: 127.0.0.1:{server.port}\\r\\n".encode()
            for head in (b"GET / HTTP/1.1\\r\\n" + host + b"X: " + b"x" * 100_000 + b"\\r\\n\\r\\n",
                         b"GET / HTTP/1.1\\r\\n" + host + b"".join(b"X%d: 1\\r\\n" % n for n in range(500)) + b"\\r\\n",
                         b"GET /" + b"x" * 200_000 + b" HTTP/1.1\\r\\n" + host + b"\\r\\n", b"\\0" * 1000, b"SPAM\\r\\n\\r\\n"):
                reply = talk(head)
                assert not isinstance(reply, bytes) or b" 200 " not in reply, reply
            # What is no request of HTTP/1.1 is the client's fault.
            own = host + f"Origin: {browser.origin}\\r\\nX-Albumfs: 1\\r\\nCookie: __Host-albumfs={browser.cookie}\\r\\n".encode()
            for head in (b"GET / HTTP/1.1\\r\\n\\r\\n",
                         b"POST /api/albums HTTP/1.1\\r\\n" + own + b"Transfer-Encoding: chunked\\r\\n\\r\\n" + b"F" * 17 + b"\\r\\nabc",
                         b"POST /api/albums HTTP/1.1\\r\\n" + own + b"Transfer-Encoding: xchunked\\r\\n\\r\\n0\\r\\n\\r\\n"):
                reply = talk(head)
                assert isinstance(reply, bytes) and b" 400 " in reply, (head, reply)
            # A chunked body that never ends, beyond the limit.
            raw = browser.connect(); raw.connect(); raw.sock.settimeout(60)
            try:
                raw.sock.sendall(b"POST /api/login HTTP/1.1\\r\\n" + host + f"Origin: {browser.origin}\\r\\n".encode()
                    + b"X-Albumfs: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
                for _ in range(300): raw.sock.sendall(b"10000\\r\\n" + b"x" * 65536 + b"\\r\\n")
                reply = raw.sock.recv(100)
            except (ConnectionError, ssl.SSLError): reply = b""
            assert b" 200 " not in reply
            # Many connections that say nothing keep nobody out.
            idle = []
            for _ in range(60):
                connection = socket.create_connection(("127.0.0.1", server.port)); idle.append(connection)
            assert "Trip" in browser.albums() and Browser(server, SECOND).albums() == {}
            for connection in idle: connection.close()
            # Many wrong passwords at once: some are told to come later.
            replies = []
            def guess():
                guesser = Browser(server)
                status, _, reply = guesser.send("POST", "/api/login", json.dumps({"password": "guess"}))
                replies.append((status, json.loads(reply).get("retryAfter", 0) > 0))
            server.process.poll()
            threads = [threading.Thread(target=guess, daemon=True) for _ in range(24)]
            for thread in threads: thread.start()
            eventually(lambda: (429, True) in replies)
            assert {status for status, _ in replies} <= {403, 429}
        # Python must not end while a thread is in OpenSSL.
        for thread in threads: thread.join(60)
        """)
    }
  }

  /// The other machine is 127.0.0.2 here.
  @Test func anotherMachineWithoutAPasswordKeepsNobodyOut() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            # It opens connections and says nothing.
            address, idle = ("127.0.0.1", server.port), []
            for _ in range(400): idle.append(socket.create_connection(address, source_address=("127.0.0.2", 0)))
            browser = Browser(server, PASSWORD)
            assert "Trip" in browser.albums()
            for connection in idle: connection.close()
            # It tries passwords, many at once, again and again.
            refusals, over = [], threading.Event()
            def guess():
                while not over.is_set():
                    guesser = Browser(server, address="127.0.0.2")
                    status, _, _ = guesser.send("POST", "/api/login", json.dumps({"password": "guess"}))
                    assert status in (403, 429), status
                    if status == 403: refusals.append(status)
                    else: be_slow(0.2)
            threads = [threading.Thread(target=guess, daemon=True) for _ in range(12)]
            for thread in threads: thread.start()
            eventually(lambda: refusals)
            # The owner waits for one of them, not for all.
            before = len(refusals)
            assert Browser(server, SECOND).albums() == {}
            assert len(refusals) - before <= 2, (before, len(refusals))
            over.set()
        # Python must not end while a thread is in OpenSSL.
        for thread in threads: thread.join(60)
        """)
    }
  }

  @Test func connectionsBeyondAClientsShareLeaveNothing() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            address = ("127.0.0.1", server.port)
            def connect(source): return socket.create_connection(address, timeout=100, source_address=(source, 0))
            def sockets():
                count = 0
                for name in os.listdir(f"/proc/{server.process.pid}/fd"):
                    try: count += os.readlink(f"/proc/{server.process.pid}/fd/{name}").startswith("socket:")
                    except FileNotFoundError: pass
                return count
            before = sockets()
            held = [connect("127.0.0.2") for _ in range(96)]
            eventually(lambda: sockets() >= before + 96)
            # Many at a time, as long as the 96 are there: those that come after these were cut off wait for that as well.
            for _ in range(100):
                if select.select(held, [], [], 0)[0]: break
                for one in [connect("127.0.0.2") for _ in range(100)]:
                    with one:
                        try: assert one.recv(1) == b""
                        except ConnectionError: pass
            eventually(lambda: sockets() <= before + 96)
            # Meanwhile others get in, and so does this one when it lets go.
            Browser(server, SECOND, address="127.0.0.3")
            for connection in held: connection.close()
            eventually(lambda: sockets() <= before + 1)
            Browser(server, SECOND, address="127.0.0.2")
            # Those that begin and leave at once leave nothing, either.
            for _ in range(300): connect("127.0.0.4").close()
            eventually(lambda: sockets() <= before + 2)
            Browser(server, SECOND, address="127.0.0.4")
        """)
    }
  }

  @Test func loginsThatNobodyWaitsForDelayNobody() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            address = "127.0.0.2"
            def send(head, body):
                raw = Browser(server, address=address).connect(); raw.connect()
                raw.sock.sendall(f"POST /api/login HTTP/1.1\\r\\nHost: 127.0.0.1:{server.port}\\r\\nOrigin: "
                                 f"https://127.0.0.1:{server.port}\\r\\nX-Albumfs: 1\\r\\n{head}\\r\\n\\r\\n".encode() + body)
                return raw
            def login():
                browser = Browser(server, address=address)
                browser.connection = browser.connect(); browser.connection.timeout = 60
                browser.login(PASSWORD)
            wrong = json.dumps({"password": "wrong"}).encode()
            ways = {
                "half a body": ("Content-Length: 100", b'{"password": "wr'),
                "half a chunk": ("Transfer-Encoding: chunked", b'64\\r\\n{"password": "wr'),
                "a whole body": (f"Content-Length: {len(wrong)}", wrong),
            }
            for name, (head, body) in ways.items():
                # More than may wait, and nobody is there any more.
                left = [send(head, body) for _ in range(40)]
                for raw in left: raw.close()
                def is_in():
                    try: login()
                    except Refused as error: assert error.code == "slow", (name, error)
                    else: return True
                eventually(is_in)
            # Over HTTP/2, a stream that is reset is one that nobody waits for.
            from http2 import Connection, RESET
            connection = Connection(server)
            streams = [connection.request("POST", "/api/login", length=len(wrong), end=False) for _ in range(30)]
            for stream in streams: connection.data(stream, wrong, end=True)
            for stream in streams: connection.send(RESET, 0, stream, bytes([0, 0, 0, 8]))
            address = "127.0.0.1"
            eventually(is_in)
        """)
    }
  }

  @Test func slowClientsAreCutOff() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S, delays="idle-connection=3,handshake=3,slice=3,body=3") as server:
            browser = Browser(server, PASSWORD)
            empty = browser.albums()["Empty"]
            upload = browser.post("/api/uploads", dict(
                album=empty["id"], folders=[], name="slow.jpg", size=1000, modified=1))["upload"]
            def open_with(head):
                raw = browser.connect(); raw.connect(); raw.sock.settimeout(300)
                raw.sock.sendall(head.encode())
                return raw.sock
            host = f"Host: 127.0.0.1:{server.port}\\r\\nOrigin: {browser.origin}\\r\\nX-Albumfs: 1\\r\\n"
            cookie = f"Cookie: __Host-albumfs={browser.cookie}\\r\\n"
            clients = {
                "a head": open_with("GET / HTTP/1.1\\r\\nHost"),
                "a body": open_with("POST /api/albums HTTP/1.1\\r\\n" + host + cookie + "Content-Length: 100\\r\\n\\r\\n{"),
                "a slice": open_with(f"PUT /api/uploads/{upload}?offset=0 HTTP/1.1\\r\\n" + host + cookie
                                     + "Content-Length: 1000\\r\\n\\r\\nabc"),
                "nothing": open_with(""),
            }
            raw = socket.create_connection(("127.0.0.1", server.port)); raw.settimeout(300); clients["no handshake"] = raw
            for name, client in clients.items():
                try: reply = client.recv(10_000)
                except (ConnectionError, ssl.SSLError): continue
                assert not reply or b" 429 " in reply, (name, reply)
            # What had arrived of the slice is there.
            assert eventually(lambda: browser.get(f"/api/uploads/{upload}")["offset"]) == 3
            # One who sends byte by byte is as slow: a slice, a batch, and what a phone sends.
            order = dict(album=empty["id"], folders=[], name="drop.jpg", size=100_000, modified=1)
            first, second = (browser.post("/api/uploads", order)["upload"] for _ in range(2))
            reception = browser.post("/api/receptions", dict(album=empty["id"]))
            sys.path.insert(0, os.path.dirname(gallery.__file__))
            from localsend import Phone
            phone = Phone(server)
            _, offer = phone.prepare({"a": dict(id="a", fileName="a.jpg", size=100_000, fileType="image/jpeg")}, reception["pin"])
            drops = [open_with(f"PUT {path} HTTP/1.1\\r\\n" + host + cookie + "Content-Length: 100000\\r\\n\\r\\n")
                     for path in (f"/api/uploads/{first}?offset=0", f"/api/batches?uploads={second}")]
            drops.append(phone.begin(offer, "a", 100_000, b"x").sock)
            replies = []
            while drops:
                ready, _, _ = select.select(drops, [], [], 0.1)
                for raw in list(drops):
                    try:
                        if raw in ready: replies.append(raw.recv(10_000)); drops.remove(raw)
                        else: raw.sendall(b"x")
                    except (ConnectionError, ssl.SSLError): drops.remove(raw)
            assert all(not reply or b" 429 " in reply for reply in replies), replies
        """)
    }
  }
}
