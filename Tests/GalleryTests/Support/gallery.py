"""A client of the gallery for tests: one server, and browsers that are logged in to it."""
import hashlib, http.client, io, json, os, random, re, select, signal, socket, ssl, struct, subprocess, threading, time, zipfile
import contextlib, sys, urllib.parse

sys.path.insert(0, os.path.dirname(__file__) + "/../../Waiting")
from waiting import eventually

# The programs of tests take everything from here.
FOR_TESTS = (contextlib, io, select, struct, threading, time, urllib.parse, zipfile)

CONSTANT = {
    "cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
    "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src blob: data:; "
        "media-src 'self' blob:; connect-src 'self'; form-action 'none'; "
        "frame-ancestors 'none'; base-uri 'none'",
}


def free_port():
    """A port that is free at all addresses, below those that the kernel gives to connections at any time."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("0.0.0.0", random.randrange(20000, 32000)))
            return probe.getsockname()[1]


def mounts():
    """Mount points of albumfs."""
    with open("/proc/self/mountinfo") as table:
        return [line.split()[4] for line in table if " fuse.albumfs " in line]


# Fixed delays of albumfs that are others than a user's, for every server.
DELAYS = []


class Server:
    """`albumfs serve`, with all that it prints."""

    def __init__(self, *arguments, port=None, host="127.0.0.1", delays=""):
        """`delays` are fixed delays of albumfs that are others than a user's; Sources/Posix/TestHooks.swift has them."""
        self.host, self.port = host, port or free_port()
        self.log = open(os.path.join(os.environ["W"], f"server-{self.port}.log"), "a+b")
        self.process = subprocess.Popen(
            ["albumfs", "serve", *arguments, "--listen", host, "--port", str(self.port)], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, start_new_session=True,
            env=dict(os.environ, ALBUMFS_TESTS_DELAYS=",".join(DELAYS + [delays] * bool(delays))))
        eventually(lambda: b"Ctrl-C" in self.output() or self.process.poll() is not None)
        if b"Ctrl-C" not in self.output(): raise AssertionError(("the server does not start", self.output()))

    def output(self):
        with open(self.log.name, "rb") as log: return log.read()

    @property
    def own_mounts(self):
        """What servers of this test have mounted; other tests mount at the same time."""
        return {point for point in mounts() if point.startswith(os.environ["XDG_RUNTIME_DIR"])}

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(60)

    def __enter__(self): return self

    def __exit__(self, *_):
        if self.process.poll() is None: self.stop()


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(status, body)
        self.status, self.body = status, body

    @property
    def code(self): return self.body.get("error")


class Browser:
    """`address` is what the browser connects from, or None for any."""

    def __init__(self, server, password=None, address=None):
        self.server, self.cookie, self.connection, self.address = server, None, None, address
        if password is not None: self.login(password)

    @property
    def origin(self): return f"https://{self.server.host}:{self.server.port}"

    def connect(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self.server.host, self.server.port, context=context, timeout=300,
                                           source_address=self.address and (self.address, 0))

    def send(self, method, path, body=None, headers=None, drop=()):
        """One request; returns status, headers and body, whatever the status."""
        all = {"X-Albumfs": "1"}
        if method not in ("GET", "HEAD"): all["Origin"] = self.origin
        if self.cookie: all["Cookie"] = f"__Host-albumfs={self.cookie}"
        all.update(headers or {})
        for name in drop: all.pop(name, None)
        for attempt in (0, 1):
            if self.connection is None: self.connection = self.connect()
            try:
                self.connection.request(method, path, body, all)
                reply = self.connection.getresponse()
                content = reply.read()
                break
            except (http.client.RemoteDisconnected, ConnectionError, BrokenPipeError, ssl.SSLError):
                self.connection.close()
                self.connection = None
                if attempt: raise
        found = {name.lower(): value for name, value in reply.getheaders()}
        for name, value in CONSTANT.items(): assert found.get(name) == value, (path, name, found)
        return reply.status, found, content

    def ask(self, method, path, body=None, **options):
        """A request that succeeds; returns the JSON of its reply, or bytes."""
        if isinstance(body, (dict, list)): body = json.dumps(body)
        status, headers, content = self.send(method, path, body, **options)
        is_json = headers.get("content-type", "").startswith("application/json")
        found = json.loads(content) if is_json else content
        if status >= 400: raise Refused(status, found if is_json else {})
        return found

    def get(self, path, **options): return self.ask("GET", path, **options)
    def post(self, path, body=None, **options): return self.ask("POST", path, body or {}, **options)

    def login(self, password):
        status, headers, content = self.send("POST", "/api/login", json.dumps({"password": password}))
        if status != 200: raise Refused(status, json.loads(content))
        found = re.fullmatch(
            r"__Host-albumfs=([\w-]{43}); Path=/; Secure; HttpOnly; SameSite=Strict", headers["set-cookie"])
        self.cookie = found.group(1)
        return json.loads(content)

    def albums(self): return {album["name"]: album for album in self.get("/api/albums")["albums"]}

    def photos(self, album=None, view=None):
        """The photos of a listing by name; each a dictionary."""
        query = f"album={album['id']}" if album else f"view={view}"
        columns = self.get(f"/api/photos?{query}")
        names = [name for name, value in columns.items() if isinstance(value, list)]
        assert {len(columns[name]) for name in names} == {columns["count"]}, columns
        return [dict(zip(names, row)) for row in zip(*(columns[name] for name in names))]

    def photo(self, album, name):
        return next(photo for photo in self.photos(album) if photo["name"] == name)

    def wait(self, job, *states):
        def ended():
            found = self.get(f"/api/jobs/{job['id']}")["job"]
            return found if found["state"] in (states or ("done",)) else None
        return eventually(ended)

    def upload(self, album, name, content, modified=1_600_000_000, folders=(), slice=1 << 20):
        begun = self.post("/api/uploads", dict(
            album=album["id"], folders=list(folders), name=name, size=len(content), modified=modified))
        id = begun["upload"]
        offset = self.prove(begun, content)
        while offset < len(content):
            part = content[offset:offset + slice]
            offset = self.ask("PUT", f"/api/uploads/{id}?offset={offset}", part)["offset"]
        return self.post(f"/api/uploads/{id}/finish")

    def upload_all(self, album, contents, modified=1_600_000_000):
        """Uploads small files, a list of (name, content), in one request, as the page does; returns what became of each."""
        orders = [dict(album=album["id"], folders=[], name=name, size=len(content), modified=modified)
                  for name, content in contents]
        begun = self.post("/api/batches", dict(files=orders))["uploads"]
        ids = ",".join(each["upload"] for each in begun)
        return self.ask("PUT", "/api/batches?uploads=" + ids, b"".join(content for _, content in contents))["files"]

    def prove(self, begun, content, slice=1 << 20):
        """Proves what the server found of an upload, as the page does; returns how much of it is this content's."""
        offset = 0
        while offset < begun["offset"]:
            part = content[offset:min(offset + slice, begun["offset"])]
            proof = dict(size=len(part), sha256=hashlib.sha256(part).hexdigest())
            proved = self.post(f"/api/uploads/{begun['upload']}/proof", proof)["offset"]
            if proved <= offset: return proved
            offset = proved
        return offset


def refused(status, code, call, *arguments, **options):
    """Asserts that a request fails so."""
    told = repr(arguments)[:1000]
    try: call(*arguments, **options)
    except Refused as error: assert (error.status, error.code) == (status, code), (error, told)
    else: raise AssertionError(("did not fail", told))
