import AlbumTestSupport
import Testing

/// Who gets in, what they see, and that nothing stays when they go.
@Suite(.serialized, .timeLimit(.minutes(30))) struct SessionTests {
  @Test func thePasswordPicksTheSpaceAndSeveralAreOpenAtOnce() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            first, second = Browser(server, PASSWORD), Browser(server, SECOND)
            assert set(first.albums()) == {"Trip", "Day", "Empty"}
            assert second.albums() == {}
            assert len(server.own_mounts) == 2, server.own_mounts
            for point in server.own_mounts: assert os.stat(os.path.dirname(point)).st_mode & 0o077 == 0
            # Another browser of the same space uses the same mount.
            third = Browser(server, PASSWORD)
            assert len(server.own_mounts) == 2
            session = first.get("/api/session")
            assert session["readOnly"] is False and session["idleSeconds"] == 600 and session["sliceSize"] > 0
            # Ids belong to one session, also within a space.
            trip = first.albums()["Trip"]
            for other in (second, third):
                refused(404, "unknown", other.get, f"/api/photos?album={trip['id']}")
                refused(404, "unknown", other.get, f"/api/thumb/{first.photos(trip)[0]['id']}")
            # The last session unmounts, and a cookie of an ended session means nothing.
            first.post("/api/lock")
            assert len(server.own_mounts) == 2
            refused(401, "session", first.get, "/api/albums")
            refused(401, "session", first.post, "/api/lock")
            third.post("/api/lock"); second.post("/api/lock")
            eventually(lambda: not server.own_mounts)
            for path in ("/api/session", "/api/albums", f"/api/photos?album={trip['id']}", "/api/changes?since=1"):
                refused(401, "session", third.get, path)
            # A new login gives new ids.
            again = Browser(server)
            assert again.login(PASSWORD) == again.get("/api/session")
            assert again.albums()["Trip"]["id"] != trip["id"]
        assert not server.own_mounts
        for word in (b"Trip", b"Day", b"IMG", PASSWORD.encode(), b"space"): assert word not in server.output(), word
        """)
    }
  }

  @Test func everyRefusalIsTheSameAndComesSlowly() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S, delays="refusal=0.1,next-refusal=0.01") as server:
            browser = Browser(server)
            bodies = [json.dumps({"password": word}) for word in ("wrong", "", "x" * 5000, "a\\nb")] + ["", "[", "{}"]
            replies = [browser.send("POST", "/api/login", body)[::2] for body in bodies]
            assert set(replies) == {(403, b'{"error":"refused"}')}, replies
            assert not server.own_mounts
            # Nobody else is kept out for good.
            Browser(server, PASSWORD)
        """)
    }
  }

  @Test func aMountThatIsThereIsUsedAndStays() throws {
    try GalleryStore.use { mounted in
      // With --mounted, the gallery offers the mounts of other tests too, which have the usual passwords.
      let words = (0..<2).map { _ in "own \(UInt64.random(in: 0 ... .max))" }
      try mounted.setPassword(words[0], "password-first-own")
      try mounted.setPassword(words[1], "password-second-own")
      try mounted.sh(
        """
        albumfs space password -q --password-file $P --new-password-file $W/../password-first-own $S
        albumfs space password -q --password-file $W/../password-second \
          --new-password-file $W/../password-second-own $S
        cp $W/../password-first-own $P
        """)
      try mounted.mount()
      try GalleryStore.python(
        mounted,
        """
        PASSWORD, SECOND = "\(words[0])", "\(words[1])"
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            assert "Trip" in browser.albums() and not server.own_mounts
            second = Browser(server, SECOND)
            assert len(server.own_mounts) == 1
        assert M in mounts() and not server.own_mounts
        with Server("--mounted") as server:
            refused(403, "refused", Browser, server, SECOND)
            browser = Browser(server, PASSWORD)
            assert "Trip" in browser.albums()
            # Whoever unmounts the space ends its sessions; the gallery keeps nothing busy.
            subprocess.run(["albumfs", "umount", "-q", M], check=True)
            def is_locked():
                try: browser.get("/api/session")
                except Refused as error: return error.code == "session"
            eventually(is_locked)
        """)
      mounted.forget()
    }
  }

  /// A store whose server is silent is waited for by a process of its own, and not for long.
  @Test func aSilentStoreDelaysNoLoginToAnotherOne() throws {
    try GalleryStore.use { mounted in
      let words = (0..<2).map { _ in "own \(UInt64.random(in: 0 ... .max))" }
      try mounted.setPassword(words[0], "password-near")
      try mounted.setPassword(words[1], "password-far")
      try mounted.sh(
        """
        albumfs space password -q --password-file $P --new-password-file $W/../password-near $S
        cp $W/../password-near $P
        mkdir $W/far $W/net
        printf '#!/bin/sh\necho $$ >%s\nexec /usr/lib/openssh/sftp-server\n' $W/server >$W/ssh
        chmod +x $W/ssh
        sshfs -o ssh_command=$W/ssh,dcache_stat_timeout=1 server:$W/far $W/net
        albumfs init -q --kdf interactive --segment-size 1M --password-file $W/../password-far $W/net/store
        """)
      defer {
        _ = try? mounted.sh(
          "kill -CONT $(cat $W/server); timeout 60 albumfs umount -q $W/../mnt2; fusermount3 -uz $W/net"
        )
      }
      try mounted.mount()
      try mounted.sh("albumfs mount -q --password-file $W/../password-far $W/net/store $W/../mnt2")
      try GalleryStore.python(
        mounted,
        """
        far = int(open(W + "/server").read())
        with Server("--mounted") as server:
            assert Browser(server, "\(words[1])").albums() == {}
            os.kill(far, signal.SIGSTOP)
            try:
                assert "Trip" in Browser(server, "\(words[0])").albums()
                refused(403, "refused", Browser, server, "\(words[1])")
            finally:
                os.kill(far, signal.SIGCONT)
            eventually(lambda: Browser(server, "\(words[1])"))
        """)
      try mounted.unmount()
    }
  }

  @Test func sessionsEndWhenNobodyUsesThemAndAtSignals() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S, "--idle", "2s") as server:
            browser, unused = Browser(server, PASSWORD), Browser(server, SECOND)
            assert len(server.own_mounts) == 2
            def only_one_is_left():
                browser.get("/api/session")
                return len(server.own_mounts) == 1
            eventually(only_one_is_left)
            assert browser.get("/api/session") and "Trip" in browser.albums()
            # Only to be open is no use.
            def none_is_left():
                try: browser.post("/api/alive")
                except Refused: pass
                return not server.own_mounts
            eventually(none_is_left)
            refused(401, "session", browser.get, "/api/session")
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            server.process.send_signal(signal.SIGUSR1)
            eventually(lambda: not server.own_mounts)
            refused(401, "session", browser.get, "/api/session")
            browser = Browser(server, PASSWORD)
            # A killed server leaves its mount; the next one clears it.
            server.stop(signal.SIGKILL)
            assert len(server.own_mounts) == 1
            with Server(S) as other:
                assert not server.own_mounts
                Browser(other, PASSWORD)
        assert not server.own_mounts
        runtime = [name for _, names, files in os.walk(W + "/runtime") for name in names + files]
        assert not [name for name in runtime if "gallery" in name], runtime
        """)
    }
  }

  @Test func theCertificateIsMadeOnceAndKept() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        def fingerprint(server):
            context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
            with socket.create_connection(("127.0.0.1", server.port)) as raw:
                with context.wrap_socket(raw) as secure: found = secure.getpeercert(True)
            shown = ":".join(f"{byte:02X}" for byte in hashlib.sha256(found).digest())
            assert shown.encode() in server.output(), server.output()
            return shown
        with Server(S) as server: first = fingerprint(server)
        with Server(S) as server: assert fingerprint(server) == first
        directory = W + "/.config/albumfs/gallery"
        assert os.stat(directory).st_mode & 0o777 == 0o700
        for name in ("key.pem", "certificate.pem"): assert os.stat(directory + "/" + name).st_mode & 0o777 == 0o600
        # A browser that knows the certificate finds nothing to complain about.
        with Server(S, "--qr") as server:
            context = ssl.create_default_context(cafile=directory + "/certificate.pem")
            for name in ("localhost", "127.0.0.1"):
                with socket.create_connection(("127.0.0.1", server.port)) as raw:
                    with context.wrap_socket(raw, server_hostname=name) as secure: assert secure.version() == "TLSv1.3"
            old = ssl.create_default_context(); old.check_hostname = False; old.verify_mode = ssl.CERT_NONE
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
            try:
                with socket.create_connection(("127.0.0.1", server.port)) as raw: old.wrap_socket(raw)
            except (ssl.SSLError, ConnectionError): pass
            else: raise AssertionError("TLS 1.1 works")
            # TLS 1.2 has no suite whose padding leaks (CBC), and none whose key is found later.
            def suites(words):
                context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
                context.maximum_version = ssl.TLSVersion.TLSv1_2; context.set_ciphers(words + ":@SECLEVEL=0")
                with socket.create_connection(("127.0.0.1", server.port)) as raw:
                    with context.wrap_socket(raw) as secure: return secure.cipher()[0]
            for words in ("ECDHE+AES128:!AESGCM:!AESCCM", "ECDHE+AES256:!AESGCM:!AESCCM", "kRSA", "SHA1"):
                try: found = suites(words)
                except (ssl.SSLError, ConnectionError): pass
                else: raise AssertionError(found)
            assert "GCM" in suites("ECDHE+AESGCM") and "CHACHA20" in suites("ECDHE+CHACHA20")
            assert "█".encode() in server.output()
        with Server(S, "--certificate", directory + "/certificate.pem", "--key", directory + "/key.pem"): pass
        """)
    }
  }

  @Test func opensslMakesTheCertificateAndOneOfAnEarlierVersionStays() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        import datetime, shutil
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        directory = W + "/.config/albumfs/gallery"
        file, key = directory + "/certificate.pem", directory + "/key.pem"
        def made():
            with open(file, "rb") as text: return x509.load_pem_x509_certificate(text.read())
        def names(certificate):
            found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            return {str(name.value) for name in found}

        # Where there is no openssl, the server says what is missing and what to do, and leaves nothing behind.
        nowhere = dict(os.environ, PATH=W + "/nowhere")
        failed = subprocess.run([shutil.which("albumfs"), "serve", S, "--port", str(free_port())], env=nowhere,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        assert failed.returncode == 11 and "openssl is missing" in failed.stderr, failed
        assert "Install the package openssl" in failed.stderr and "--certificate" in failed.stderr, failed
        assert not os.path.exists(directory) or os.listdir(directory) == [], os.listdir(directory)

        with Server(S): first = made()
        assert sorted(os.listdir(directory)) == ["certificate.pem", "key.pem"]
        assert isinstance(first.public_key(), ec.EllipticCurvePublicKey) and first.public_key().curve.name == "secp256r1"
        assert first.not_valid_after - first.not_valid_before == datetime.timedelta(days=820)
        assert first.signature_hash_algorithm.name == "sha256" and first.serial_number >> 100
        assert {"localhost", "127.0.0.1", "::1", socket.gethostname()} <= names(first), names(first)
        found = {extension.oid._name: (extension.critical, extension.value) for extension in first.extensions}
        assert found["basicConstraints"] == (True, x509.BasicConstraints(ca=False, path_length=None)), found
        usage = found["keyUsage"]
        assert usage[0] and usage[1].digital_signature and not usage[1].key_cert_sign, usage
        assert list(found["extendedKeyUsage"][1]) == [x509.oid.ExtendedKeyUsageOID.SERVER_AUTH], found
        with Server(S, host="127.0.0.2"): second = made()
        assert second != first and "127.0.0.2" in names(second)

        def place(days, names):
            "A certificate that something else made."
            kinds = ("IP:" + name if ":" in name or name[0].isdigit() else "DNS:" + name for name in names)
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", file,
                            "-days", str(days), "-subj", "/CN=earlier", "-addext", "subjectAltName=" + ",".join(kinds)],
                           check=True, capture_output=True)
            return made()
        for days, wanted, stays in (
            (8, names(first), True), (8, names(first) | {"other.example"}, True), (6, names(first), False),
            (800, names(first) - {"127.0.0.1"}, False), (800, names(first) - {"localhost"}, False)):
            other = place(days, wanted)
            with Server(S): assert (made() == other) == stays, (days, wanted)
            for kept in (file, key): assert stays or os.stat(kept).st_mode & 0o777 == 0o600
        # What lies there and is no certificate is replaced, and so is a key of another certificate.
        another = subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
                                 check=True, capture_output=True).stdout
        for spoiled, content in (file, b"nothing"), (key, b"nothing"), (key, another):
            with open(file, "rb") as text: old = text.read()
            with open(spoiled, "wb") as text: text.write(content)
            with Server(S): assert open(file, "rb").read() != old and names(made()) >= names(first), (spoiled, content)
        """)
    }
  }
}
