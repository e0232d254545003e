import AlbumTestSupport
import Foundation
import Testing

/// The server loads pictures from the web into an album, one by one, says what it could not load, and looks
/// into no house.
@Suite(.serialized, .timeLimit(.minutes(30))) struct WebImportTests {
  /// A server beside the gallery, with one picture.
  private static let web = """
    import http.server
    picture = get(W + "/picture.jpg")
    asked, stall = [], threading.Event()
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *words): pass
        def do_GET(self):
            asked.append(self.path)
            body, status = picture + self.path.encode(), 200
            if self.path == "/page": body = b"<html>log in</html>"
            if self.path == "/none": status = 404
            self.send_response(status)
            size = len(body) + (5000000 if self.path in ("/slow", "/drop") else 0)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            self.wfile.write(body)
            if self.path == "/slow": self.wfile.flush(); stall.wait(60)
            try:
                while self.path == "/drop":
                    self.wfile.write(b"x"); self.wfile.flush()
                    if stall.wait(0.1): return
            except OSError: return
    class Web(http.server.ThreadingHTTPServer): daemon_threads = True
    web = Web(("127.0.0.1", 0), Handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    base = "http://127.0.0.1:%d" % web.server_port

    """

  @Test func addressesBecomePhotosAndErrorsAreNamed() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        WebImportTests.web + """
          os.environ["ALBUMFS_TESTS_LOAD_LOCALLY"] = "yes"
          with Server(S) as server:
              browser = Browser(server, PASSWORD)
              point = next(iter(server.own_mounts))
              assert browser.get("/api/session")["imports"] is True
              empty = browser.albums()["Empty"]
              def start(*urls):
                  return browser.post("/api/imports", dict(album=empty["id"], urls=list(urls)))["job"]
              job = start(base + "/a", base + "/page", base + "/none", base + "/b.jpg", base + "/a#again")
              assert job["kind"] == "import" and job["total"] == 4, job
              job = browser.wait(job)
              assert job["done"] == 4, job
              errors = {e["name"].rsplit("/", 1)[1]: e["error"] for e in job["errors"]}
              assert errors == {"page": "nopicture", "none": "missing"}, job
              assert all(e["id"] == "" for e in job["errors"])
              assert sorted(os.listdir(point + "/Empty/Photo")) == ["a.jpg", "b.jpg"]
              assert get(point + "/Empty/Photo/a.jpg") == picture + b"/a"
              eventually(lambda: len(browser.photos(empty)) == 2)
              # The same content is not added again.
              job = browser.wait(start(base + "/a"))
              assert job["errors"] == [] and len(os.listdir(point + "/Empty/Photo")) == 2, job
              # How far a file is, and an end in the middle.
              job = start(base + "/slow", base + "/c")
              path = "/api/jobs/" + job["id"]
              eventually(lambda: browser.get(path)["job"]["bytes"] > 0)
              assert browser.get(path)["job"]["size"] == len(picture) + 5 + 5000000
              browser.post(path + "/cancel")
              job = browser.wait(job, "cancelled")
              stall.set()
              assert job["errors"] == [] and "/c" not in asked, (job, asked)
              names = [n for n in os.listdir(point + "/Empty/Photo") if not n.startswith(".")]
              assert sorted(names) == ["a.jpg", "b.jpg"], names
              # Two at once.
              stall.clear()
              running = [start(base + "/slow"), start(base + "/slow?2")]
              refused(503, "busy", start, base + "/d")
              browser.post("/api/lock")
              eventually(lambda: not server.own_mounts)
              stall.set()
              assert b"127.0.0.1:%d" % web.server_port not in server.output()
          """)
    }
  }

  @Test func aServerThatSendsByteByByteIsGivenUpAndTheNextAddressIsLoaded() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        WebImportTests.web + """
          os.environ["ALBUMFS_TESTS_LOAD_LOCALLY"] = "yes"
          with Server(S, delays="slow-server=1") as server:
              browser = Browser(server, PASSWORD)
              point = next(iter(server.own_mounts))
              empty = browser.albums()["Empty"]
              job = browser.wait(browser.post("/api/imports", dict(album=empty["id"], urls=[base + "/drop", base + "/a"]))["job"])
              assert [e["error"] for e in job["errors"]] == ["unreachable"] and asked == ["/drop", "/drop", "/a"], (job, asked)
              assert os.listdir(point + "/Empty/Photo") == ["a.jpg"]
              stall.set()
          """)
    }
  }

  @Test func whatIsNoAddressIsRefusedAndSoIsTheHouse() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        WebImportTests.web + """
          with Server(S) as server:
              browser = Browser(server, PASSWORD)
              empty = browser.albums()["Empty"]
              def start(*urls, album=empty["id"]):
                  return browser.post("/api/imports", dict(album=album, urls=list(urls)))["job"]
              for bad in ["file:///etc/passwd", "ftp://example.org/a", "x", "", "http://a\\nb/", "gopher://a/"]:
                  refused(400, "address", start, "http://example.org/a", bad)
              refused(400, "invalid", start)
              many = ["http://example.org/%d" % n for n in range(1001)]
              refused(400, "invalid", start, *many)
              refused(400, "invalid", browser.post, "/api/imports", {"album": empty["id"]})
              refused(404, "unknown", start, "http://example.org/a", album="nonsense")
              refused(400, "invalid", browser.post, "/api/jobs",
                  dict(kind="import", ids=[], album=empty["id"]))
              status, _, _ = browser.send("POST", "/api/imports", "{}", drop=["Origin"])
              assert status == 403
              port = web.server_port
              house = ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "localhost", "[::1]", "0.0.0.0",
                  "[::]", "[::ffff:127.0.0.1]", "10.0.0.1", "192.168.1.1", "169.254.169.254",
                  "[fe80::1]", "[fd00::1]",
                  socket.gethostname()]
              job = browser.wait(start(*["http://%s:%d/a" % (host, port) for host in house]))
              codes = [e["error"] for e in job["errors"]]
              # A name that resolves to nothing here is no way in either.
              assert len(codes) == len(house) and set(codes) <= {"local", "unreachable"}, job
              # Where there is no IPv6, its addresses lead nowhere.
              known = [code for host, code in zip(house[:12], codes) if not host.startswith("[")]
              assert set(known) == {"local"}, job
              assert asked == []
              # A proxy of the environment would connect to anything.
          os.environ["http_proxy"] = os.environ["all_proxy"] = base
          with Server(S) as server:
              browser = Browser(server, PASSWORD)
              job = browser.wait(browser.post("/api/imports",
                  dict(album=browser.albums()["Empty"]["id"], urls=["http://192.0.2.1/a"]))["job"])
              assert [e["error"] for e in job["errors"]] == ["local"] and asked == [], (job, asked)
          """)
    }
  }

  @Test func whatACameraSaysIsShown() throws {
    let tags = [
      "-Make=Apple", "-Model=iPhone 15 Pro", "-LensModel=iPhone 15 Pro back camera",
      "-ExposureTime=1/125",
      "-FNumber=1.8", "-ISO=64", "-FocalLength=6.9", "-FocalLengthIn35mmFormat=24",
    ]
    let jpeg = try TestPictures.tag(
      TestPictures.encode(TestPictures.pixels(), as: "jpg"), "jpg", tags)
    let heic = try TestPictures.tag(
      TestPictures.make(TestPictures.pixels(), as: "heic"), "heic", tags)
    try GalleryStore.use { mounted in
      for (name, bytes) in [("camera.jpg", jpeg), ("camera.heic", heic)] {
        try mounted.write(Data(bytes), name)
      }
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            empty = browser.albums()["Empty"]
            for name in ["camera.jpg", "camera.heic"]: browser.upload(empty, name, get(W + "/" + name))
            eventually(lambda: len(browser.photos(empty)) == 2)
            for name in ["camera.jpg", "camera.heic"]:
                about = browser.get("/api/photo/" + browser.photo(empty, name)["id"])
                assert about["camera"] == "Apple iPhone 15 Pro", about
                assert about["lens"] == "iPhone 15 Pro back camera" and about["iso"] == 64, about
                assert abs(about["exposure"] - 1 / 125) < 1e-9 and about["aperture"] == 1.8, about
                assert about["focalLength"] == 6.9 and about["focalLength35"] == 24, about
            about = browser.get("/api/photo/" + browser.photo(browser.albums()["Trip"], "notes.txt")["id"])
            assert about["camera"] is None and about["exposure"] is None, about
        """)
    }
  }
}
