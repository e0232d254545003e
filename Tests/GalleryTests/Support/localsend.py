"""A phone with the app LocalSend for tests: the sender's side of its protocol 2.1."""
import hashlib, http.client, json, os, socket, ssl, subprocess, sys, time, urllib.parse

GROUP = ("224.0.0.167", 53317)
PATH = "/api/localsend/v2/"


class Phone:
    def __init__(self, server, address=None, alias="Nice Orange"):
        self.host, self.port = server.host, server.port
        self.address, self.alias = address or server.host, alias

    def connect(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(
            self.host, self.port, context=context, timeout=120, source_address=(self.address, 0))
        connection.connect()
        return connection

    def certificate(self):
        """SHA-256 of the certificate of the server."""
        connection = self.connect()
        return hashlib.sha256(connection.sock.getpeercert(True)).hexdigest().upper()

    def send(self, method, path, body=None, headers=None):
        connection = self.connect()
        try:
            headers = headers or {}
            try: connection.request(method, PATH + path, body, headers, encode_chunked="Transfer-Encoding" in headers)
            except (BrokenPipeError, ConnectionResetError, ssl.SSLError): pass  # it may have replied before the end
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally: connection.close()

    @property
    def info(self):
        return dict(alias=self.alias, version="2.1", deviceModel="Samsung", deviceType="mobile",
                    fingerprint="0" * 64, port=53317, protocol="https", download=False)

    def prepare(self, files, pin=None):
        """Offers files, {id: fields}; returns the status and the reply."""
        query = "?" + urllib.parse.urlencode({"pin": pin}) if pin is not None else ""
        status, body = self.send("POST", "prepare-upload" + query, json.dumps({"info": self.info, "files": files}))
        return status, json.loads(body) if body else None

    def target(self, session, file, token):
        return "upload?" + urllib.parse.urlencode(
            dict(sessionId=session, fileId=file, token=token), quote_via=urllib.parse.quote)

    def upload(self, offer, file, content, **headers):
        return self.send("POST", self.target(offer["sessionId"], file, offer["files"][file]), content, headers)[0]

    def begin(self, offer, file, size, content):
        """Sends the head and some bytes; returns the connection."""
        connection = self.connect()
        target = PATH + self.target(offer["sessionId"], file, offer["files"][file])
        connection.sock.sendall(
            f"POST {target} HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: {size}\r\n\r\n".encode() + content)
        return connection

    def give(self, pin, contents, **more):
        """Sends files, {name: content}, as the app does: all are offered, then each comes."""
        files = {f"id {number}": described(name, content, **more)
                 for number, (name, content) in enumerate(contents.items())}
        status, offer = self.prepare(files, pin)
        assert status == 200, (status, offer)
        assert set(offer["files"]) == set(files), offer
        return [self.upload(offer, id, content) for id, content in zip(files, contents.values())]


def described(name, content, modified=None, sha256=None):
    file = dict(id="any", fileName=name, size=len(content), fileType="image/heic", preview=None, sha256=sha256)
    if modified is not None: file["metadata"] = {"modified": modified, "accessed": None}
    return file


def enter_own_network():
    """Runs the program again where it has a network of its own: two interfaces, 192.0.2.1 and 198.51.100.1."""
    if "OWN_NETWORK" not in os.environ:
        os.environ["OWN_NETWORK"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    for words in ("link set lo up", "link add first type veth peer name second", "addr add 192.0.2.1/24 dev first",
                  "addr add 198.51.100.1/24 dev second", "link set first up", "link set second up"):
        subprocess.run(["ip", *words.split()], check=True)


class Network:
    """What is announced on the interface with an address."""

    def __init__(self, address):
        own = socket.inet_aton(address)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.setsockopt(socket.IPPROTO_IP, 49, 0)  # IP_MULTICAST_ALL: nothing from other interfaces
        self.socket.bind(GROUP)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP[0]) + own)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)

    def announce(self, message):
        datagram = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.socket.sendto(datagram, GROUP)

    def hear(self, port, count):
        """Waits for that many announcements of one server."""
        return self.heard(port, 300, count)

    def heard(self, port, seconds, most=1000):
        """The announcements of one server within some seconds, for networks in which there should be none."""
        found, end = [], time.monotonic() + seconds
        while len(found) < most and (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try: message = json.loads(self.socket.recv(4096))
            except (socket.timeout, ValueError, RecursionError): continue
            if isinstance(message, dict) and message.get("port") == port: found.append(message)
        return found

    def __enter__(self): return self
    def __exit__(self, *_): self.socket.close()
