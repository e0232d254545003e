import AlbumTestSupport
import Testing

/// Photos come from phones' own app, without a browser on the phone.
@Suite(.serialized, .timeLimit(.minutes(30))) struct LocalSendTests {
  private static func use(_ program: String) throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        from localsend import *
        def receive(browser, album="Empty"):
            return browser.post("/api/receptions", {"album": browser.albums()[album]["id"]})
        def visible(point, album="Empty"):
            return sorted(name for name in os.listdir(f"{point}/{album}/Photo") if not name.startswith("."))
        def hidden(point, album="Empty"):
            return [name for name in os.listdir(f"{point}/{album}/Photo") if name.startswith(".")]
        \(program)
        """)
    }
  }

  @Test func originalsAndVideosArriveByteForByteWithTheirTimes() throws {
    try LocalSendTests.use(
      """
      with Server(S) as server:
          phone = Phone(server)
          # Nobody is logged in: there is no receiver.
          for method, path in (("GET", "info"), ("POST", "register"), ("POST", "prepare-upload?pin=1"),
                               ("POST", "upload?sessionId=a&fileId=b&token=c"), ("POST", "cancel?sessionId=a")):
              assert phone.send(method, path, b"{}" if method == "POST" else None)[0] == 404, path
          browser = Browser(server, PASSWORD)
          point = next(iter(server.own_mounts))
          assert phone.send("GET", "info")[0] == 404
          reception = receive(browser)
          assert re.fullmatch(r"\\d{6}", reception["pin"]) and reception["device"] == "Album"
          assert reception["address"] is None and reception["port"] == server.port
          info = json.loads(phone.send("GET", "info")[1])
          assert info == json.loads(phone.send("POST", "register", json.dumps(phone.info))[1])
          assert (info["version"], info["download"], info["deviceType"]) == ("2.1", False, "server")
          assert info["fingerprint"] == reception["fingerprint"] == phone.certificate()
          assert info["fingerprint"] in server.output().decode().replace(":", "")
          # The app asks without a PIN first.
          photo, film = random.Random(1).randbytes(3_500_000), random.Random(2).randbytes(9_000_000)
          files = {"a": described("IMG_0001.HEIC", photo, "2024-01-29T12:34:56.5Z"),
                   "b": described("film.mov", film, "2021-01-01T00:00:00Z", hashlib.sha256(film).hexdigest())}
          status, reply = phone.prepare(files)
          assert (status, list(reply)) == (401, ["message"]), reply
          status, offer = phone.prepare(files, reception["pin"])
          assert status == 200 and set(offer["files"]) == {"a", "b"}, offer
          # Files come in parallel.
          results = {}
          def give(id, content): results[id] = phone.upload(offer, id, content)
          threads = [threading.Thread(target=give, args=pair) for pair in (("a", photo), ("b", film))]
          for thread in threads: thread.start()
          for thread in threads: thread.join()
          assert results == {"a": 200, "b": 200}
          path = point + "/Empty/Photo/"
          assert get(path + "IMG_0001.HEIC") == photo and get(path + "film.mov") == film
          assert os.stat(path + "IMG_0001.HEIC").st_mtime == 1706531696.5
          assert os.stat(path + "film.mov").st_mtime == 1609459200
          # The same content is there already; another one of that name gets a number; folders become albums.
          now = time.time()
          assert phone.give(reception["pin"], {"other.HEIC": photo, "IMG_0001.HEIC": b"other", "none.jpg": b"",
                                               "Größe/Inner/deep.jpg": b"deep"}) == [200] * 4
          assert visible(point) == ["IMG_0001 (2).HEIC", "IMG_0001.HEIC", "film.mov", "none.jpg"]
          assert get(path + "IMG_0001 (2).HEIC") == b"other" and hidden(point) == []
          assert get(point + "/Empty/Größe/Inner/Photo/deep.jpg") == b"deep"
          assert abs(os.stat(path + "none.jpg").st_mtime - now) < 60
          progress = browser.get("/api/receptions/" + reception["reception"])
          assert progress == dict(state="open", done=0, total=0, saved=6, failed=0), progress
          eventually(lambda: len(browser.photos(browser.albums()["Empty"])) == 4)
          # The one who receives ends it.
          browser.post(f"/api/receptions/{reception['reception']}/close")
          assert phone.send("GET", "info")[0] == 404
          assert browser.get("/api/receptions/" + reception["reception"])["state"] == "closed"
          # What was shown as sent is on disk.
          server.stop(signal.SIGKILL)
      with Server(S) as server:
          browser = Browser(server, PASSWORD)
          assert get(next(iter(server.own_mounts)) + "/Empty/Photo/film.mov") == film
          for word in (b"HEIC", b"Empty", b"Orange", reception["pin"].encode()): assert word not in server.output()
      """)
  }

  @Test func aTerminalReceivesIntoTheSpaceOfThePassword() throws {
    try LocalSendTests.use(
      """
      def start(password, album, *more):
          put(W + "/../typed", password.encode() + b"\\n")
          return Server(S, "--localsend", album, "--password-file", W + "/../typed", *more)
      def pin(server): return re.search(r"The PIN is (\\d{6})", server.output().decode()).group(1)
      with start(PASSWORD, "Trip/From a phone") as server:
          point = next(iter(server.own_mounts))
          words = get(f"/proc/{server.process.pid}/cmdline")
          for word in (b"From a phone", PASSWORD.encode()):
              assert word not in words and word not in server.output()
          phone = Phone(server)
          assert phone.give(pin(server), {"a.HEIC": b"first"}) == [200]
          assert get(point + "/Trip/From a phone/Photo/a.HEIC") == b"first"
          assert phone.certificate() in server.output().decode().replace(":", "")
          # A browser logs in besides it, to the other space too, and its lock does not end it.
          Browser(server, SECOND).post("/api/lock")
          browser = Browser(server, PASSWORD); browser.post("/api/lock")
          assert phone.give(pin(server), {"b.HEIC": b"second"}) == [200]
          # Everything locks: nothing is received, and the gallery goes on.
          server.process.send_signal(signal.SIGUSR1)
          eventually(lambda: not server.own_mounts)
          assert phone.send("GET", "info")[0] == 404
          eventually(lambda: b"the space was locked" in server.output())
          assert "From a phone" in Browser(server, PASSWORD).albums()
      with start(SECOND, "New", "--idle", "3s") as server:
          assert Phone(server).give(pin(server), {"c.HEIC": b"third"}) == [200]
          assert get(next(iter(server.own_mounts)) + "/New/Photo/c.HEIC") == b"third"
          # Nobody sends anything.
          eventually(lambda: not server.own_mounts)
          eventually(lambda: b"the space was locked" in server.output())
      def fails(code, *words):
          run = subprocess.run(["albumfs", "serve", S, *words], stdin=subprocess.DEVNULL, capture_output=True)
          assert run.returncode == code, run
          assert not [point for point in mounts() if point.startswith(os.environ["XDG_RUNTIME_DIR"])]
      put(W + "/../typed", b"wrong\\n")
      file = ("--password-file", W + "/../typed")
      fails(12, "--localsend", "Trip", *file)
      fails(9, "--localsend", "Trip")
      put(W + "/../typed", PASSWORD.encode())
      for album in ("../Trip", "Trip/Photo", ".hidden", "/", "x" * 300): fails(11, "--localsend", album, *file)
      for words in (file, ("--localsend", ""), ("--localsend", "a\\nb", *file), ("--localsend", "Trip", "--read-only")):
          fails(1, *words)
      """)
  }

  @Test func whatNoAppSendsIsRefused() throws {
    try LocalSendTests.use(
      """
      with Server(S) as server:
          browser, phone = Browser(server, PASSWORD), Phone(server)
          point = next(iter(server.own_mounts))
          reception = receive(browser); pin = reception["pin"]
          # A page elsewhere has an origin.
          for origin in ("null", "https://elsewhere.example", browser.origin):
              assert phone.send("POST", "prepare-upload?pin=" + pin, b"{}", {"Origin": origin})[0] == 403
          # What is no offer.
          offers = [b"", b"[]", b"{", b'{"files": 5}', b'{"files": {"a": {}}}', b"\\xff" * 10,
                    json.dumps({"files": {"a": dict(fileName="a", size=-1)}}).encode(),
                    json.dumps({"files": {"a": dict(fileName="a", size=1, sha256="xyz")}}).encode(),
                    json.dumps({"files": {str(n): dict(fileName="a", size=1) for n in range(10_001)}}).encode(),
                    b" " * (9 << 20)]
          for offer in offers:
              status, _ = phone.send("POST", "prepare-upload?pin=" + pin, offer)
              assert status == 400, (status, offer[:100])
          assert phone.prepare({}, pin) == (204, None)
          # Files with names that an album cannot have fail; the others of the same offer do not.
          hostile = ("../a.jpg", "a/../../b.jpg", "/etc/passwd", "a\\0.jpg", "x" * 300, "..", ".", "", ".hidden.jpg",
                     "Thumb/a.jpg", "Photo/a.jpg", "Thumb", "a//b.jpg", "a/", "a\\nb.jpg", "/".join(["x"] * 40))
          files = {str(number): described(name, b"12345") for number, name in enumerate(hostile)}
          files["large"] = dict(fileName="large.mov", size=1 << 50)
          files["good"] = described("good.jpg", b"12345")
          status, offer = phone.prepare(files, pin)
          assert status == 200 and set(offer["files"]) == set(files), offer
          for id in files:
              if id != "good": assert phone.upload(offer, id, b"12345") == 400, files[id]
          assert visible(point) == [] and hidden(point) == []
          progress = browser.get("/api/receptions/" + reception["reception"])
          assert (progress["failed"], progress["total"], progress["done"]) == (17, 18, 0), progress
          # One transfer at a time.
          assert phone.prepare({"a": described("a.jpg", b"1")}, pin)[0] == 409
          # Only the one who began it sends, with the right words.
          session, token = offer["sessionId"], offer["files"]["good"]
          elsewhere = Phone(server, "127.0.0.2")
          assert elsewhere.upload(offer, "good", b"12345") == 403
          assert elsewhere.send("POST", "cancel?sessionId=" + session)[0] == 403
          for words, expected in (((session, "good", "x"), 403), ((session, "good", token[:-1]), 403),
                                  ((session, "bad", token), 403), (("x", "good", token), 403),
                                  ((session, "0", token), 403), ((session, "good", ""), 400),
                                  ((session, "", token), 400), (("", "good", token), 400)):
              assert phone.send("POST", phone.target(*words), b"12345")[0] == expected, words
          assert phone.send("POST", "upload", b"12345")[0] == 400
          assert len(session) == len(token) == 22 and session != token
          # Another session of the gallery knows nothing of it.
          other = Browser(server, PASSWORD)
          refused(404, "unknown", other.get, "/api/receptions/" + reception["reception"])
          refused(404, "unknown", other.post, f"/api/receptions/{reception['reception']}/close")
          # Another size than announced, also where the connection does not say how much comes.
          for content in (b"123456", b"1234", b""):
              assert phone.upload(offer, "good", content) == 400, content
              assert phone.send("POST", phone.target(session, "good", token), iter([content]),
                                {"Transfer-Encoding": "chunked"})[0] == 400, content
          assert visible(point) == [] and hidden(point) == []
          assert phone.upload(offer, "good", b"12345") == 200
          assert visible(point) == ["good.jpg"]
          # The transfer is over, and so are its tokens.
          assert phone.upload(offer, "good", b"12345") == 403
          # Another SHA-256 than announced.
          status, offer = phone.prepare({"a": described("hash.jpg", b"12345", sha256="0" * 64),
                                         "b": described("b.jpg", b"b")}, pin)
          assert phone.upload(offer, "a", b"12345") == 400
          assert visible(point) == ["good.jpg"] and hidden(point) == []
          # A file may come again while the transfer lasts: the reply may have been lost.
          assert [phone.upload(offer, "b", b"b"), phone.upload(offer, "b", b"b")] == [200, 200]
          assert visible(point) == ["b.jpg", "good.jpg"]
          assert phone.send("POST", "cancel?sessionId=" + offer["sessionId"])[0] == 200
          assert phone.upload(offer, "a", b"12345") == 403
          assert sorted(os.listdir(point)) == ["Empty", "Trip"] and os.listdir(point + "/Empty") == ["Photo", "Thumb"]
          # A reception in a space that cannot be changed.
          browser.post("/api/lock"); other.post("/api/lock")
      with Server(S, "--read-only") as server:
          browser = Browser(server, PASSWORD)
          refused(403, "readonly", receive, browser)
          refused(404, "unknown", browser.post, "/api/receptions", {"album": "x"})
          refused(400, "invalid", browser.post, "/api/receptions", {})
      """)
  }

  @Test func thePinPicksTheReceptionAndCannotBeGuessed() throws {
    try LocalSendTests.use(
      """
      with Server(S) as server:
          first, second, phone = Browser(server, PASSWORD), Browser(server, SECOND), Phone(server)
          points = {name: point for point in server.own_mounts for name in os.listdir(point)}
          second.post("/api/albums", {"parent": None, "name": "Hers"})
          hers = next(point for point in server.own_mounts if point != points["Trip"])
          one, other = receive(first), receive(second, "Hers")
          assert one["pin"] != other["pin"]
          # A transfer of one of them does not keep the other one waiting.
          status, offer = phone.prepare({"a": described("a.jpg", b"1")}, one["pin"])
          assert status == 200 and phone.give(other["pin"], {"b.jpg": b"2"}) == [200]
          assert phone.upload(offer, "a", b"1") == 200
          assert visible(points["Trip"]) == ["a.jpg"] and visible(hers, "Hers") == ["b.jpg"]
          assert second.get("/api/receptions/" + other["reception"])["saved"] == 1
          # A new reception of a session ends the one before, and its PIN.
          again = receive(first)
          assert first.get("/api/session") and phone.prepare({"a": described("c.jpg", b"3")}, again["pin"])[0] == 200
          wrong = next(pin for pin in ("000000", "111111", "222222") if pin not in (again["pin"], other["pin"]))
          replies = [phone.prepare({"a": described("a.jpg", b"1")}, pin)[0]
                     for pin in (one["pin"], wrong, wrong + "0", "x", again["pin"] + " ")]
          assert replies == [401] * 5, replies
          # The right one still works in between, and too many wrong ones end it for all.
          assert phone.give(other["pin"], {"d.jpg": b"4"}) == [200]
          replies = []
          while len(replies) < 30 and (not replies or replies[-1] == 401):
              replies.append(phone.prepare({"a": described("a.jpg", b"1")}, wrong)[0])
          assert replies == [401] * 4 + [429], replies
          assert phone.prepare({"a": described("a.jpg", b"1")}, again["pin"])[0] == 404
          assert phone.send("GET", "info")[0] == 404
          assert second.get("/api/receptions/" + other["reception"])["state"] == "guessed"
          # Whoever receives opens it anew.
          assert phone.give(receive(first)["pin"], {"e.jpg": b"5"}) == [200]
      """)
  }

  @Test func aFileThatFailedIsTriedAgainAndKeepsNoOtherPhoneWaiting() throws {
    try LocalSendTests.use(
      """
      with Server(S) as server:
          browser, phone, other = Browser(server, PASSWORD), Phone(server), Phone(server, "127.0.0.2")
          point = next(iter(server.own_mounts))
          pin = receive(browser)["pin"]
          files = {"a": described("a.jpg", b"whole"), "b": described("b.jpg", b"b")}
          status, offer = phone.prepare(files, pin)
          assert status == 200 and phone.upload(offer, "a", b"wh") == 400
          # The second file is still to come.
          assert other.prepare({"c": described("c.jpg", b"c")}, pin)[0] == 409
          assert phone.upload(offer, "b", b"b") == 200 and phone.upload(offer, "a", b"who") == 400
          assert phone.upload(offer, "a", b"whole") == 200
          status, offer = phone.prepare({"d": described("d.jpg", b"whole")}, pin)
          assert status == 200 and phone.upload(offer, "d", b"wh") == 400
          # Nothing more is to come, and so another one may send, or the same one anew.
          assert other.give(pin, {"c.jpg": b"c"}) == [200]
          assert phone.upload(offer, "d", b"whole") == 403
          assert phone.give(pin, {"d.jpg": b"d"}) == [200]
          assert visible(point) == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
      """)
  }

  @Test func whateverEndsATransferNothingPartialIsShownAndNothingSavedIsLost() throws {
    try LocalSendTests.use(
      """
      content = random.Random(3).randbytes(4_000_000)
      def offer_two(phone, reception):
          status, offer = phone.prepare({"a": described("whole.HEIC", content[:1000]),
                                         "b": described("partial.mov", content)}, reception["pin"])
          assert status == 200, offer
          return offer
      def shown(browser): return [photo["name"] for photo in browser.photos(browser.albums()["Empty"])]
      with Server(S) as server:
          browser, phone = Browser(server, PASSWORD), Phone(server)
          point = next(iter(server.own_mounts))
          # A sender that vanishes: what came whole stays.
          reception = receive(browser)
          offer = offer_two(phone, reception)
          assert phone.upload(offer, "a", content[:1000]) == 200
          connection = phone.begin(offer, "b", len(content), content[:3_000_000])
          eventually(lambda: hidden(point))
          # While it comes, it is not shown, and it cannot come twice.
          assert visible(point) == ["whole.HEIC"] and phone.upload(offer, "b", content) == 409
          connection.sock.close()
          eventually(lambda: not hidden(point))
          assert visible(point) == ["whole.HEIC"]
          eventually(lambda: browser.get("/api/receptions/" + reception["reception"])["failed"] == 1)
          # It comes back and goes on; then it cancels in the middle.
          connection = phone.begin(offer, "b", len(content), content[:3_000_000])
          eventually(lambda: hidden(point))
          assert phone.send("POST", "cancel?sessionId=" + offer["sessionId"])[0] == 200
          connection.sock.sendall(content[3_000_000:])
          assert b" 403 " in connection.sock.recv(1000)
          eventually(lambda: not hidden(point))
          # Another one may send at once.
          assert phone.give(reception["pin"], {"next.jpg": b"next"}) == [200]
          # One that stops to send is cut off.
          offer = offer_two(phone, reception)
          connection = phone.begin(offer, "b", len(content), content[:100_000])
          eventually(lambda: hidden(point))
          reply = connection.sock.recv(1000)
          assert reply == b"" or b" 429 " in reply, reply
          eventually(lambda: not hidden(point))
          assert phone.upload(offer, "b", content) == 200
          assert visible(point) == ["next.jpg", "partial.mov", "whole.HEIC"]
          os.unlink(point + "/Empty/Photo/partial.mov")
          # A lock in the middle.
          phone.send("POST", "cancel?sessionId=" + offer["sessionId"])
          offer = offer_two(phone, reception)
          connection = phone.begin(offer, "b", len(content), content[:3_000_000])
          eventually(lambda: hidden(point))
          browser.post("/api/lock")
          connection.sock.sendall(content[3_000_000:])
          assert b" 200 " not in connection.sock.recv(1000)
          assert phone.upload(offer, "a", content[:1000]) == 404 and phone.send("GET", "info")[0] == 404
          eventually(lambda: not server.own_mounts)
          browser = Browser(server, PASSWORD)
          point = next(iter(server.own_mounts))
          assert shown(browser) == visible(point) == ["next.jpg", "whole.HEIC"]
          # The server is killed in the middle.
          offer = offer_two(phone, receive(browser))
          assert phone.upload(offer, "a", content[:1000]) == 200
          connection = phone.begin(offer, "b", len(content), content[:3_000_000])
          eventually(lambda: [name for name in hidden(point) if os.stat(f"{point}/Empty/Photo/{name}").st_size > 0])
          server.stop(signal.SIGKILL)
          connection.sock.close()
      with Server(S) as server:
          browser, phone = Browser(server, PASSWORD), Phone(server)
          point = next(iter(server.own_mounts))
          assert shown(browser) == visible(point) == ["next.jpg", "whole.HEIC"]
          assert get(point + "/Empty/Photo/whole.HEIC") == content[:1000]
          assert phone.upload(offer, "b", content) == 404
          # What it left goes at a login an hour later.
          for name in hidden(point): os.utime(f"{point}/Empty/Photo/{name}", (1, 1))
          put(point + "/Empty/Photo/.albumfs-receive-fresh")
          browser.post("/api/lock"); eventually(lambda: not server.own_mounts)
          browser = Browser(server, PASSWORD)
          point = next(iter(server.own_mounts))
          eventually(lambda: hidden(point) == [".albumfs-receive-fresh"])
          # An album that is removed meanwhile, and one that is renamed.
          reception = receive(browser)
          assert phone.give(reception["pin"], {"f.jpg": b"6"}) == [200]
          os.rename(point + "/Empty", point + "/Full")
          eventually(lambda: "Full" in browser.albums())
          assert phone.give(reception["pin"], {"g.jpg": b"7"}) == [200] and "g.jpg" in visible(point, "Full")
          subprocess.run(["rm", "-r", point + "/Full"], check=True)
          eventually(lambda: "Full" not in browser.albums())
          assert phone.give(reception["pin"], {"h.jpg": b"8"}) != [200]
          assert "Full" not in os.listdir(point)
      """)
  }

  @Test func aReceiverIsAnnouncedOnlyWhileSomebodyReceives() throws {
    try LocalSendTests.use(
      """
      enter_own_network()
      asks = dict(alias="Secret Banana", version="2.1", deviceModel="Samsung", deviceType="mobile",
                  fingerprint="F" * 64, port=53317, protocol="https", download=False, announce=True)
      with Network("192.0.2.1") as network, Network("198.51.100.1") as elsewhere, \\
           Server(S, host="192.0.2.1") as server:
          browser = Browser(server, PASSWORD)
          network.announce(asks)
          assert network.heard(server.port, 3) == []
          reception = receive(browser)
          heard = network.hear(server.port, 3)
          expected = dict(alias="Album", version="2.1", deviceModel="Linux", deviceType="server",
                          fingerprint=reception["fingerprint"], download=False, port=server.port, protocol="https")
          assert heard == [{**expected, "announce": True}] * 3, heard
          assert reception["address"] == "192.0.2.1"
          # It replies to one that asks, and to nothing else.
          network.announce(asks)
          assert network.hear(server.port, 1) == [{**expected, "announce": False}]
          assert network.heard(server.port, 2) == []
          for noise in (b"", b"{", b"\\xff" * 3000, b"[" * 60_000, {"announce": True}, {**asks, "announce": False},
                        {**asks, "fingerprint": reception["fingerprint"]}, {**asks, "alias": "x" * 10_000}):
              network.announce(noise)
          assert network.heard(server.port, 2) == []
          # Many that ask get few replies.
          begin = time.monotonic()
          for _ in range(50): network.announce(asks)
          replies = len(network.heard(server.port, 2))
          assert 1 <= replies <= 2 + (time.monotonic() - begin), replies
          # Whom it announces takes files there.
          assert Phone(server).give(reception["pin"], {"a.HEIC": b"there"}) == [200]
          # Nobody heard of it where the server does not listen.
          elsewhere.announce(asks)
          assert elsewhere.heard(server.port, 2) == []
          browser.post(f"/api/receptions/{reception['reception']}/close")
          network.announce(asks)
          assert network.heard(server.port, 3) == []
          # The lock ends it too.
          receive(browser)
          network.hear(server.port, 3)
          browser.post("/api/lock")
          network.announce(asks)
          assert network.heard(server.port, 3) == []
      """)
  }
}
