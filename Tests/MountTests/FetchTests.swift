import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// `import --url` loads pictures from the web into an album: each once, whole, named as its server says; and
/// says what it does not load.
@Suite(.serialized, .timeLimit(.minutes(30))) struct FetchTests {
  /// A server with pictures, and with everything else that servers do. `asked` is the list of its requests.
  private static let server = """
    import gzip, http.server, threading, socketserver, json
    picture = get(W + "/picture.jpg")
    asked = []
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def log_message(self, *words): pass
        def reply(self, body, status=200, **headers):
            self.send_response(status)
            for name, value in headers.items(): self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def do_GET(self):
            asked.append((self.path, dict(self.headers)))
            path = self.path.split("?")[0]
            if path in ("/garden.jpg", "/again.jpg"):
                return self.reply(picture, Last_Modified="Sun, 09 Sep 2001 01:46:40 GMT")
            if path == "/named": return self.reply(picture + b"1",
                Content_Disposition="attachment; filename*=UTF-8''%C3%A4.php")
            if path == "/page": return self.reply(b"<!DOCTYPE html><html>log in</html>" * 99)
            if path == "/moved": return self.reply(b"", 302, Location="/garden.jpg", Set_Cookie="a=b")
            if path == "/file": return self.reply(b"", 302, Location="file:///etc/passwd")
            if path == "/loop": return self.reply(b"", 302, Location="/loop")
            if path == "/empty": return self.reply(b"")
            if path == "/endless":
                self.send_response(200); self.end_headers(); self.wfile.write(picture); self.close_connection = True
                try:
                    while True: self.wfile.write(bytes(100000))
                except OSError: return
            if path == "/packed":
                return self.reply(gzip.compress(picture + bytes(50000000)), Content_Encoding="gzip")
            if path == "/huge":
                self.send_response(200); self.send_header("Content-Length", str(1 << 40))
                self.end_headers(); self.wfile.write(picture); self.close_connection = True; return
            if path in ("/cut", "/changed", "/noranges"):
                # Ends each connection in the middle; has ranges.
                whole = picture + bytes(3000000)
                tag = '"%d"' % (len(asked) if path == "/changed" else 1)
                start = 0
                if "Range" in self.headers and self.headers.get("If-Range") == tag and path != "/noranges":
                    start = int(self.headers["Range"][6:-1])
                if path == "/changed" and len(asked) > 3: whole = picture + bytes(3000001)
                self.send_response(206 if start else 200)
                place = "bytes %d-%d/%d" % (start, len(whole) - 1, len(whole))
                if start: self.send_header("Content-Range", place)
                self.send_header("ETag", tag)
                self.send_header("Content-Length", str(len(whole) - start))
                self.end_headers()
                part = whole[start:]
                enough = path == "/noranges" and len(asked) > 2 or path == "/changed" and len(asked) > 3
                self.wfile.write(part if enough else part[:1000000])
                self.close_connection = True
                return
            self.reply(b"nothing", 404)
    class Server(socketserver.ThreadingMixIn, http.server.HTTPServer): daemon_threads = True
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = "http://127.0.0.1:%d" % server.server_port
    def load(*words, code=0, **more):
        command = ["albumfs", "import", "--json", *words]
        done = subprocess.run(command, capture_output=True, text=True, **more)
        assert done.returncode == code, done
        return json.loads(done.stdout) if done.stdout else done.stderr
    def hidden():
        return [n for _, _, names in os.walk(M) for n in names if n.startswith(".")]

    """

  private func withServer(_ program: String, person: MountedStore.Person = .tester) throws {
    try MountedStore.use(as: person) { mounted in
      let picture = try TestPictures.encode(TestPictures.pixels(), as: "jpg[Q=90]")
      try mounted.write(Data(picture), "picture.jpg")
      try mounted.python(FetchTests.server + program)
    }
  }

  @Test(arguments: MountedStore.Person.allCases)
  func addressesBecomePhotos(person: MountedStore.Person) throws {
    try withServer(
      """
      report = load("--url", base + "/garden.jpg", "--url", base + "/named", M + "/Trip")
      assert report["imported"] == 2 and report["complete"] and not report["errors"], report
      assert sorted(os.listdir(M + "/Trip/Photo")) == ["garden.jpg", "ä.jpg"], os.listdir(M + "/Trip/Photo")
      assert get(M + "/Trip/Photo/garden.jpg") == picture and get(M + "/Trip/Photo/ä.jpg") == picture + b"1"
      assert os.stat(M + "/Trip/Photo/garden.jpg").st_mtime == 1000000000
      # The same content under another address is not stored twice; behind a redirect, too.
      report = load("--url", base + "/again.jpg", "--url", base + "/moved", M + "/Trip")
      assert report["imported"] == 0 and report["duplicates"] == 2, report
      # A list, from standard input; nothing of it stands in the arguments.
      report = load("--url-list", "-", M + "/Other", input="# list\\n" + base + "/garden.jpg\\n\\n")
      assert report["imported"] == 1, report
      # By date: the picture has no date of capture, so its server's counts.
      report = load("--by-date", "--url", base + "/garden.jpg", M)
      assert os.listdir(M + "/2001-09-09/Photo") == ["garden.jpg"], report
      assert hidden() == []
      for path, headers in asked:
          assert "Cookie" not in headers and "Referer" not in headers, headers
          assert "albumfs" not in str(headers), headers
      """, person: person)
  }

  @Test func whatIsNoPictureIsNamedAndNotKept() throws {
    try withServer(
      """
      words = []
      for path in ["/page", "/empty", "/none", "/file", "/loop", "/huge", "/garden.jpg"]:
          words += ["--url", base + path]
      report = load(*words, M + "/Trip", code=51)
      reasons = {e["path"].rsplit("/", 1)[1]: e["reason"] for e in report["errors"]}
      assert report["imported"] == 1 and len(reasons) == 6, report
      assert "web page" in reasons["page"] and "not a picture" in reasons["empty"], reasons
      assert "404" in reasons["none"] and "redirects" in reasons["file"], reasons
      assert "redirects" in reasons["loop"] and "larger" in reasons["huge"], reasons
      assert os.listdir(M + "/Trip/Photo") == ["garden.jpg"] and hidden() == []
      urls = ["--url", "http://127.0.0.1:1/a.jpg", "--url", "https://nowhere.invalid/a.jpg"]
      report = load(*urls, M + "/Trip", code=51)
      reasons = [e["reason"] for e in report["errors"]]
      assert "cannot be reached" in reasons[0] and "no server" in reasons[1], reasons
      for bad in ["ftp://example.org/a.jpg", "/etc/passwd", "file:///etc/passwd"]:
          assert "is no address" in load("--url", bad, M + "/Trip", code=1)
      assert "take neither" in load("--move", "--url", base + "/a", M + "/Trip", code=1)
      assert "take neither" in load("--dry-run", "--url", base + "/a", M + "/Trip", code=1)
      small = load("--url-limit", "100", "--url", base + "/garden.jpg", M + "/Trip", code=51)
      # A body without an end, and one that unpacks to much more, end at once.
      bombs = load("--url-limit", "1000000", "--url", base + "/endless", "--url", base + "/packed", M + "/Trip", code=51)
      reasons = [e["reason"] for e in bombs["errors"]]
      assert "larger" in reasons[0] and "not a picture" in reasons[1] and bombs["imported"] == 0, bombs
      assert os.listdir(M + "/Trip/Photo") == ["garden.jpg"] and hidden() == []
      """)
  }

  @Test func aCutConnectionGoesOn() throws {
    try withServer(
      """
      report = load("--url", base + "/cut", M + "/Trip")
      assert report["imported"] == 1, report
      assert get(M + "/Trip/Photo/cut.jpg") == picture + bytes(3000000)
      starts = [int(h["Range"][6:-1]) for _, h in asked if "Range" in h]
      assert len(asked) > 2 and starts == sorted(starts) and len(starts) == len(asked) - 1, asked
      # A server without ranges sends everything anew.
      asked.clear()
      report = load("--url", base + "/noranges", M + "/Other")
      assert report["imported"] == 1 and len(asked) == 3, asked
      assert get(M + "/Other/Photo/noranges.jpg") == picture + bytes(3000000)
      # A file that was changed meanwhile is not put together from two.
      asked.clear()
      report = load("--url", base + "/changed", M + "/Third")
      assert get(M + "/Third/Photo/changed.jpg") == picture + bytes(3000001)
      assert hidden() == []
      """)
  }

  @Test func anInterruptedImportGoesOnWhereItWas() throws {
    try withServer(
      """
      import signal
      stall, confined = threading.Event(), []
      def slow(self):
          asked.append((self.path, dict(self.headers)))
          whole = picture + bytes(4000000)
          start = int(self.headers["Range"][6:-1]) if "Range" in self.headers else 0
          self.send_response(206 if start else 200)
          place = "bytes %d-%d/%d" % (start, len(whole) - 1, len(whole))
          if start: self.send_header("Content-Range", place)
          self.send_header("ETag", '"x"')
          self.send_header("Content-Length", str(len(whole) - start))
          self.end_headers()
          if not start:
              self.wfile.write(whole[:2000000]); self.wfile.flush(); stall.wait(60)
          else: self.wfile.write(whole[start:])
      Handler.do_GET = slow
      for end in [signal.SIGINT, signal.SIGKILL]:
          asked.clear()
          album = M + "/" + end.name
          command = ["albumfs", "import", "-q", "--url", base + "/slow.jpg?secret", album]
          running = subprocess.Popen(command)
          def size():
              found = [os.path.join(album, "Photo", n) for n in hidden() if "fetch" in n]
              return os.stat(found[0]).st_size if found else 0
          eventually(lambda: os.path.isdir(album + "/Photo") and size() >= 1500000)
          # The address stands nowhere but in the arguments of the command itself.
          for process in os.listdir("/proc"):
              if not process.isdigit() or int(process) in (running.pid, os.getpid()): continue
              try: words = get("/proc/%s/cmdline" % process) + get("/proc/%s/environ" % process)
              except OSError: continue
              if b"albumfs-fetch" not in words: continue
              assert b"secret" not in words, words
              # It has given up what it does not need before it asked the server.
              status = dict(line.split(":", 1) for line in get("/proc/%s/status" % process).decode().splitlines())
              if int(status["PPid"]) != running.pid: continue
              assert status["Seccomp"].strip() == "2" and status["NoNewPrivs"].strip() == "1", status
              assert int(status["CapEff"], 16) == 0 and "0" not in status["Uid"].split(), status
              confined.append(process)
          running.send_signal(end)
          assert running.wait() in (15, -9)
          assert len([n for n in os.listdir(album + "/Photo") if not n.startswith(".")]) == 0
          assert subprocess.run(command).returncode == 0
          assert get(album + "/Photo/slow.jpg") == picture + bytes(4000000)
          starts = [h.get("Range") for _, h in asked]
          assert len(starts) == 2 and int(starts[1][6:-1]) >= 1500000, starts
          assert hidden() == []
      stall.set()
      assert len(confined) >= 2, confined
      """)
  }

  @Test func aServerWithoutATrustedCertificateIsRefused() throws {
    try withServer(
      """
      import ssl
      subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", W + "/key.pem",
          "-out", W + "/cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
          "subjectAltName=DNS:localhost"], check=True, capture_output=True)
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(W + "/cert.pem", W + "/key.pem")
      server.socket = context.wrap_socket(server.socket, server_side=True)
      report = load("--url", "https://localhost:%d/garden.jpg" % server.server_port, M + "/Trip", code=51)
      assert "certificate" in report["errors"][0]["reason"], report
      assert asked == [] and os.listdir(M + "/Trip/Photo") == []
      """)
  }

  @Test func aMissingLibraryIsNamed() throws {
    try withServer(
      """
      import shutil
      os.makedirs(W + "/bin")
      programs = os.path.dirname(shutil.which("albumfs"))
      for name in ["albumfs", "albumfs-thumbnailer"]: shutil.copy(programs + "/" + name, W + "/bin")
      put(W + "/bin/albumfs-fetch", b"#!/bin/sh\\nexit 127\\n"); os.chmod(W + "/bin/albumfs-fetch", 0o755)
      os.environ["PATH"] = W + "/bin:" + os.environ["PATH"]
      report = load("--url", base + "/garden.jpg", M + "/Trip", code=51)
      assert "apt install libcurl4" in report["errors"][0]["reason"] and asked == [], report
      """)
  }

  private static var canMakeNetworks: Bool {
    geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/sbin/ip")
  }

  /// Two networks with public addresses, and a server in one that leads on into the other one's house.
  @Test(.enabled(if: canMakeNetworks, "needs root and iproute2"))
  func aRedirectIntoTheHouseIsRefused() throws {
    let name = "albumfs\(getpid())"
    let scratch = try ScratchDirectory()
    let server = scratch.path("server.py")
    try FetchTests.redirecting.write(toFile: server, atomically: false, encoding: .utf8)
    // The servers inherit blocked signals from the test, so only SIGKILL ends them.
    let script = """
      set -e
      \(Waiting.shell)
      end() { kill -KILL $server $house 2>/dev/null || :; ip netns del \(name)s; ip netns del \(name)c; }
      ip netns add \(name)s; ip netns add \(name)c; trap end EXIT
      ip link add web netns \(name)s type veth peer name own netns \(name)c
      up() { ip -n $1 addr add $3/32 dev $2; ip -n $1 link set $2 up; ip -n $1 link set lo up; }
      up \(name)s web 93.184.216.34; up \(name)c own 81.2.69.142
      ip -n \(name)s route add 81.2.69.142/32 dev web; ip -n \(name)c route add 93.184.216.34/32 dev own
      ip netns exec \(name)s /usr/bin/python3 \(server) >\(scratch.path("web")) & server=$!
      ip netns exec \(name)c /usr/bin/python3 \(server) >\(scratch.path("house")) & house=$!
      await test -s \(scratch.path("web")); await test -s \(scratch.path("house"))
      for path in picture loopback own; do
        printf 'url http://93.184.216.34:8080/%s\\nlimit 1000\\npublic yes\\n' $path \\
          | ip netns exec \(name)c \(Command.builtPath("albumfs-fetch")) | tr -d '\\000-\\011' || :
        echo "; $path"
      done
      """
    let outcome = try Command("/bin/bash", ["-c", script]).run()
    let lines = outcome.output.split(separator: "\n").map(String.init)
    #expect(
      lines.contains { $0.hasSuffix("; picture") && !$0.contains("not-public") }, "\(outcome)")
    for path in ["loopback", "own"] {
      #expect(lines.contains { $0.hasSuffix("not-public 0; \(path)") }, "\(outcome)")
    }
    let asked = try String(contentsOfFile: scratch.path("house"), encoding: .utf8)
    #expect(asked == "ready\n", "somebody came into the house")
  }

  private static let redirecting = """
    import http.server
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *words): pass
        def do_GET(self):
            print(self.path, flush=True)
            place = {"/loopback": "127.0.0.1", "/own": "81.2.69.142"}.get(self.path)
            self.send_response(302 if place else 200)
            if place: self.send_header("Location", "http://%s:8080/secret" % place)
            self.send_header("Content-Length", "0" if place else "4")
            self.end_headers()
            if not place: self.wfile.write(b"\\xff\\xd8\\xff\\xe0")
    server = http.server.HTTPServer(("0.0.0.0", 8080), Handler)
    print("ready", flush=True)
    server.serve_forever()

    """
}
