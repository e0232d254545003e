import AlbumTestSupport
import Testing

/// What was shown as saved is there, byte for byte, whatever dies meanwhile.
@Suite(.serialized, .timeLimit(.minutes(30))) struct UploadTests {
  @Test func filesArriveInSlicesAndKeepTheirTimes() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            empty = browser.albums()["Empty"]
            content = random.Random(1).randbytes(3_500_000)
            saved = browser.upload(empty, "IMG_1.jpg", content, modified=1_500_000_000)
            assert (saved["state"], saved["name"]) == ("saved", "IMG_1.jpg")
            path = point + "/Empty/Photo/IMG_1.jpg"
            assert get(path) == content and os.stat(path).st_mtime == 1_500_000_000
            # The same content is there already, whatever its name is; another one of that name gets a number.
            there = browser.upload(empty, "other.jpg", content)
            assert (there["state"], there["name"], there["photo"]) == ("there", "IMG_1.jpg", saved["photo"])
            other = bytes(reversed(content))
            second = browser.upload(empty, "IMG_1.jpg", other)
            assert (second["state"], second["name"]) == ("saved", "IMG_1 (2).jpg")
            assert get(point + "/Empty/Photo/IMG_1 (2).jpg") == other and get(path) == content
            assert browser.upload(empty, "none.jpg", b"")["state"] == "saved"
            # A slice that follows at once finds the file free.
            assert browser.upload(empty, "small slices.jpg", other[:600_000], slice=1000)["state"] == "saved"
            os.remove(point + "/Empty/Photo/small slices.jpg")
            # A page that knows the hash need not send what is there.
            order = dict(album=empty["id"], folders=[], name="again.jpg", size=len(content), modified=3)
            eventually(lambda: browser.post("/api/uploads", order).get("candidate"))
            id = browser.post("/api/uploads", order)["upload"]
            path = f"/api/uploads/{id}/same"
            assert browser.post(path, {"sha256": "0" * 64}) == {"state": "new"}
            refused(400, "invalid", browser.post, path, {"sha256": "xyz"})
            same = browser.post(path, {"sha256": hashlib.sha256(content).hexdigest()})
            assert (same["state"], same["name"]) == ("there", "IMG_1.jpg"), same
            # A photo whose deletion waits for an undo is not there: what is saved now stays.
            eventually(lambda: len(browser.photos(browser.albums()["Empty"])) == 3)
            job = browser.post("/api/jobs", {"kind": "delete", "ids": [second["photo"]]})["job"]
            kept = browser.upload(empty, "kept.jpg", other)
            assert (kept["state"], kept["name"]) == ("saved", "kept.jpg"), kept
            browser.wait(job)
            assert get(point + "/Empty/Photo/kept.jpg") == other
            os.rename(point + "/Empty/Photo/kept.jpg", point + "/Empty/Photo/IMG_1 (2).jpg")
            # Folders become albums.
            browser.upload(empty, "deep.jpg", b"deep", folders=["Größe", "Inner"])
            assert get(point + "/Empty/Größe/Inner/Photo/deep.jpg") == b"deep"
            assert sorted(os.listdir(point + "/Empty/Photo")) == ["IMG_1 (2).jpg", "IMG_1.jpg", "none.jpg"]
            eventually(lambda: len(browser.photos(browser.albums()["Empty"])) == 3)
            # Several at once share barriers.
            results, browsers = {}, [Browser(server, PASSWORD) for _ in range(4)]
            def fill(number):
                own = browsers[number]; album = own.albums()["Empty"]
                for turn in range(5):
                    results[number, turn] = own.upload(album, f"{number}-{turn}.jpg", os.urandom(10_000))["state"]
            threads = [threading.Thread(target=fill, args=[number]) for number in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            assert list(results.values()) == ["saved"] * 20, results
        """)
    }
  }

  @Test func smallFilesArriveTogetherAndEachIsSavedOrFailsAlone() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            empty = browser.albums()["Empty"]
            photo = point + "/Empty/Photo/"
            limit = browser.get("/api/session")["batch"]
            chance = random.Random(3)
            contents = [(f"IMG_{number}.jpg", chance.randbytes(number * 5000)) for number in range(40)]
            saved = browser.upload_all(empty, contents, modified=1_500_000_000)
            assert [(each["state"], each["name"]) for each in saved] == [("saved", name) for name, _ in contents], saved
            for name, content in contents:
                assert get(photo + name) == content and os.stat(photo + name).st_mtime == 1_500_000_000, name
            # The same content is there already, in one request too; another one of that name gets a number.
            same, other = contents[7][1], chance.randbytes(500)
            told = browser.upload_all(empty, [("again.jpg", same), ("IMG_1.jpg", other), ("twin.jpg", other)])
            assert [(each["state"], each["name"]) for each in told] == [
                ("there", "IMG_7.jpg"), ("saved", "IMG_1 (2).jpg"), ("there", "IMG_1 (2).jpg")], told
            # A name that no file can have, and an album that is gone, fail alone.
            order = lambda **changes: {**dict(album=empty["id"], folders=[], name="b.jpg", size=3, modified=1), **changes}
            begun = browser.post("/api/batches", dict(files=[
                order(), order(name="../a.jpg"), order(album="x"), order(size=1 << 50), order(name="c.jpg", folders=["Inner"])]))
            assert [each.get("error") for each in begun["uploads"]] == [None, "name", "unknown", "large", None], begun
            first, last = begun["uploads"][0]["upload"], begun["uploads"][4]["upload"]
            put_all = lambda ids, body, **options: browser.ask("PUT", "/api/batches?uploads=" + ids, body, **options)
            for ids, body in ((first, b"12"), (first, b"1234"), (f"{first},{first}", b"123123"), ("", b"")):
                refused(400, "invalid", put_all, ids, body)
            refused(404, "unknown", put_all, first + ",x", b"123")
            refused(404, "unknown", Browser(server, PASSWORD).ask, "PUT", "/api/batches?uploads=" + first, b"123")
            refused(400, "invalid", browser.post, "/api/batches", dict(files=[order()] * (limit["files"] + 1)))
            large = browser.post("/api/batches", dict(files=[order(size=limit["bytes"] + 1)]))["uploads"][0]
            refused(413, "large", put_all, large["upload"], b"x")
            told = put_all(f"{last},{first}", b"inn123")["files"]
            assert [each["state"] for each in told] == ["saved", "saved"], told
            assert get(photo + "b.jpg") == b"123" and get(point + "/Empty/Inner/Photo/c.jpg") == b"inn"
            # A file of which a part is there goes on by itself; the request says so of it alone.
            begun = browser.post("/api/batches", dict(files=[order(name="part.jpg", size=10), order(name="d.jpg")]))["uploads"]
            part, whole = (each["upload"] for each in begun)
            assert browser.ask("PUT", f"/api/uploads/{part}?offset=0", b"12345") == {"offset": 5}
            told = put_all(f"{part},{whole}", b"1234567890ddd")["files"]
            assert (told[0]["error"], told[0]["offset"], told[1]["state"]) == ("invalid", 5, "saved"), told
            assert get(photo + "d.jpg") == b"ddd"
            # A connection that breaks in the second file loses at most that one, and what came of it stays.
            begun = browser.post("/api/batches", dict(files=[
                order(name=f"cut-{number}.jpg", size=500_000) for number in range(3)]))["uploads"]
            raw = browser.connect(); raw.connect()
            cut = [chance.randbytes(500_000) for _ in range(3)]
            raw.sock.sendall((f"PUT /api/batches?uploads={','.join(each['upload'] for each in begun)} HTTP/1.1\\r\\n"
                f"Host: 127.0.0.1:{server.port}\\r\\nOrigin: {browser.origin}\\r\\nX-Albumfs: 1\\r\\n"
                f"Cookie: __Host-albumfs={browser.cookie}\\r\\nContent-Length: 1500000\\r\\n\\r\\n").encode()
                + cut[0] + cut[1][:300_000])
            eventually(lambda: os.path.exists(photo + "cut-0.jpg")); raw.sock.close()
            def offset():
                try: return browser.get(f"/api/uploads/{begun[1]['upload']}")["offset"]
                except Refused: return 0
            arrived = eventually(offset)
            assert 0 < arrived <= 300_000 and get(photo + "cut-0.jpg") == cut[0]
            browser.ask("PUT", f"/api/uploads/{begun[1]['upload']}?offset={arrived}", cut[1][arrived:])
            assert browser.post(f"/api/uploads/{begun[1]['upload']}/finish")["state"] == "saved"
            assert get(photo + "cut-1.jpg") == cut[1] and not os.path.exists(photo + "cut-2.jpg")
            # What was shown as saved is there after the daemon was killed.
            last = [(f"last-{number}.jpg", chance.randbytes(20_000)) for number in range(30)]
            assert [each["state"] for each in browser.upload_all(empty, last)] == ["saved"] * 30
            status = subprocess.run(["albumfs", "status", "--json", point], capture_output=True, check=True)
            os.kill(json.loads(status.stdout)["pid"], signal.SIGKILL)
            def is_locked():
                try: browser.get("/api/session")
                except Refused as error: return error.code == "session"
            eventually(is_locked)
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            for name, content in last + contents:
                assert get(point + "/Empty/Photo/" + name) == content, name
        """)
    }
  }

  @Test func whatIsNoUploadIsRefused() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            empty = browser.albums()["Empty"]
            def begin(**changes):
                return browser.post("/api/uploads", {**dict(
                    album=empty["id"], folders=[], name="a.jpg", size=10, modified=1), **changes})
            for name in ("", "..", ".", ".hidden.jpg", "a/b.jpg", "../../a.jpg", "a\\0.jpg", "/etc/passwd", "x" * 300):
                refused(400, "name", begin, name=name)
                refused(400, "name", begin, folders=[name])
            refused(400, "name", begin, folders=["Photo"])
            refused(400, "invalid", begin, folders=["x"] * 100)
            refused(400, "invalid", begin, size=-1)
            refused(413, "large", begin, size=1 << 50)
            refused(404, "unknown", begin, album="x")
            refused(400, "invalid", browser.post, "/api/uploads", {"album": empty["id"]})
            assert os.listdir(point + "/Empty/Photo") == [] and sorted(os.listdir(point)) == ["Empty", "Trip"]
            id = begin()["upload"]
            path = f"/api/uploads/{id}"
            refused(413, "large", browser.ask, "PUT", path + "?offset=0", b"x" * 11)
            for offset in ("5", "11"):
                try: browser.ask("PUT", path + "?offset=" + offset, b"x")
                except Refused as error: assert error.status in (409, 413), error
                else: raise AssertionError(offset)
            for offset in ("-1", "x", ""):
                refused(400, "invalid", browser.ask, "PUT", path + "?offset=" + offset, b"x")
            assert browser.ask("PUT", path + "?offset=0", b"12345") == {"offset": 5}
            try: browser.ask("PUT", path + "?offset=0", b"12345")
            except Refused as error: assert (error.status, error.body) == (409, {"error": "invalid", "offset": 5})
            try: browser.post(path + "/finish")
            except Refused as error: assert (error.status, error.body["offset"]) == (409, 5)
            else: raise AssertionError("an incomplete upload is saved")
            # Another session's upload is unknown, and so is one that was cancelled.
            other = Browser(server, PASSWORD)
            refused(404, "unknown", other.get, path)
            browser.post(path + "/cancel")
            refused(404, "unknown", browser.get, path)
            assert os.listdir(point + "/Empty/Photo") == []
        """)
    }
  }

  /// Scanners and archives give pictures fixed sizes and times.
  @Test func anotherPictureOfTheSameNameSizeAndTimeNeverMixesWithOne() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        seed = random.randrange(1 << 30); print("seed", seed); chance = random.Random(seed)
        MIB = 1 << 20
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            empty = browser.albums()["Empty"]
            def begin(browser):
                album = browser.albums()["Empty"]["id"]
                order = dict(album=album, folders=[], name="scan.bmp", size=3 * MIB + 5, modified=7)
                return browser.post("/api/uploads", order)
            def put_slice(browser, id, content, offset):
                return browser.ask("PUT", f"/api/uploads/{id}?offset={offset}", content[offset:offset + MIB])["offset"]
            def moved(call, *arguments):
                try: call(*arguments)
                except Refused as error: found = error
                else: raise AssertionError("taken")
                assert (found.status, found.code) == (409, "invalid"), found
                return found.body["offset"]
            one, two = (chance.randbytes(3 * MIB + 5) for _ in "ab")
            # The first is interrupted after a slice. The other one finds it, but cannot prove it.
            first = begin(browser)
            put_slice(browser, first["upload"], one, 0)
            second = begin(browser)
            assert second["offset"] == MIB
            # Not even a client that proves nothing goes on behind it.
            assert moved(put_slice, browser, second["upload"], two, MIB) == 0
            assert browser.prove(begin(browser), two) == 0
            assert browser.upload(empty, "scan.bmp", two, modified=7)["state"] == "saved"
            assert get(point + "/Empty/Photo/scan.bmp") == two
            # The first one goes on where it was, in another session too.
            other = Browser(server, PASSWORD)
            found = begin(other)
            assert (found["offset"], other.prove(found, one)) == (MIB, MIB)
            refused(400, "invalid", other.post, f"/api/uploads/{found['upload']}/proof", dict(size=0, sha256="0" * 64))
            refused(400, "invalid", other.post, f"/api/uploads/{found['upload']}/proof", dict(size=9 * MIB, sha256="0" * 64))
            assert put_slice(other, found["upload"], one, MIB) == 2 * MIB
            # Who knew it before goes on, too, with a copy of what is his.
            assert put_slice(browser, first["upload"], one, MIB) == 2 * MIB
            put_slice(browser, first["upload"], one, 2 * MIB)
            put_slice(browser, first["upload"], one, 3 * MIB)
            saved = browser.post(f"/api/uploads/{first['upload']}/finish")
            assert saved["state"] == "saved" and get(point + "/Empty/Photo/" + saved["name"]) == one, saved
            assert browser.get("/api/photo/" + saved["photo"])["name"] == saved["name"], "known at once"
            # What was left of the same picture goes then.
            assert begin(browser)["offset"] == 0
            put_slice(other, (found := begin(other))["upload"], one, 0)
            put_slice(other, found["upload"], one, MIB)
            os.remove(point + "/Empty/Photo/" + saved["name"])
            # A connection that was lost without the server's knowledge holds nobody up.
            stalled = begin(other)
            assert other.prove(stalled, one) == 2 * MIB
            def stall():
                raw = other.connect(); raw.connect()
                raw.sock.sendall((f"PUT /api/uploads/{stalled['upload']}?offset={2 * MIB} HTTP/1.1\\r\\nHost: 127.0.0.1:{server.port}\\r\\n"
                    f"Origin: {other.origin}\\r\\nX-Albumfs: 1\\r\\nCookie: __Host-albumfs={other.cookie}\\r\\n"
                    f"Content-Length: {MIB}\\r\\n\\r\\n").encode() + b"x")
                return raw
            raw = stall()
            def is_read():
                global raw
                # The question below may have come just before it.
                if select.select([raw.sock], [], [], 0)[0]: raw.close(); raw = stall()
                try: other.ask("PUT", f"/api/uploads/{stalled['upload']}?offset={3 * MIB}", b"x")
                except Refused as error: return error.code == "busy"
            eventually(is_read)
            fourth = begin(browser)
            assert (fourth["offset"], browser.prove(fourth, one)) == (2 * MIB, 2 * MIB)
            assert put_slice(browser, fourth["upload"], one, 2 * MIB) == 3 * MIB
            # A later one finds that copy.
            fifth = begin(Browser(server, PASSWORD))
            assert fifth["offset"] == 3 * MIB
            browser.post(f"/api/uploads/{fourth['upload']}/cancel")
            raw.close()
            def is_free():
                try: return other.post(f"/api/uploads/{stalled['upload']}/cancel") == {}
                except Refused as error: assert error.code == "busy", error
            eventually(is_free)
            # A wrong proof leaves nothing that is proved.
            found = begin(other)
            put_slice(other, found["upload"], one, 0)
            third = begin(browser)
            part = hashlib.sha256(one[:MIB]).hexdigest(), hashlib.sha256(two[MIB:2 * MIB]).hexdigest()
            for sha, offset in zip(part, (MIB, 0)):
                proof = dict(size=MIB, sha256=sha)
                assert browser.post(f"/api/uploads/{third['upload']}/proof", proof)["offset"] == offset
            other.post(f"/api/uploads/{found['upload']}/cancel")
            assert moved(browser.post, f"/api/uploads/{third['upload']}/finish") == 0
            # Another program may replace the hidden file: the upload begins anew.
            hidden = lambda: {each.path: each for each in os.scandir(point + "/Empty/Photo") if each.name.startswith(".")}
            for wrong in (os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/passwd", path), lambda path: put(path, b"x" * 9 * MIB)):
                before = hidden()
                begun = begin(browser)
                put_slice(browser, begun["upload"], one, 0)
                path, = set(hidden()) - set(before)
                os.remove(path); wrong(path)
                assert moved(put_slice, browser, begun["upload"], one, MIB) == 0
                again = begin(browser)
                assert browser.prove(again, one) == 0
                assert put_slice(browser, again["upload"], one, 0) == MIB
                browser.post(f"/api/uploads/{again['upload']}/cancel")
                (os.rmdir if os.path.isdir(path) else os.remove)(path)
            # Many at once, from several phones.
            def upload(turn, results):
                own = Browser(server, PASSWORD); content = contents[turn]; begun = begin(own); id = begun["upload"]
                offset = own.prove(begun, content)
                while True:
                    try:
                        while offset < len(content): offset = put_slice(own, id, content, offset)
                        results[turn] = own.post(f"/api/uploads/{id}/finish")
                        return
                    except Refused as error:
                        assert error.code == "invalid", error
                        offset = error.body["offset"]
            for turns in range(3):
                contents = [one] + [chance.randbytes(3 * MIB + 5) for _ in range(3)]
                # Two of them are the same picture.
                contents.append(contents[1])
                results = {}
                threads = [threading.Thread(target=upload, args=[turn, results]) for turn in range(len(contents))]
                for thread in threads: thread.start()
                for thread in threads: thread.join()
                assert len(results) == len(contents), results
                for turn, result in results.items():
                    assert get(point + "/Empty/Photo/" + result["name"]) == contents[turn], (turn, result)
            names = os.listdir(point + "/Empty/Photo")
            shown = [name for name in names if not name.startswith(".")]
            assert len({get(point + "/Empty/Photo/" + name) for name in shown}) == 1 + 1 + 9, shown
        """)
    }
  }

  @Test func anUploadGoesOnIntoAnAlbumThatIsRenamed() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            empty = browser.albums()["Empty"]
            order = dict(album=empty["id"], folders=[], name="a.jpg", size=4000, modified=1)
            path = "/api/uploads/" + browser.post("/api/uploads", order)["upload"]
            for turn in range(4):
                assert browser.ask("PUT", f"{path}?offset={turn * 1000}", b"x" * 1000) == {"offset": turn * 1000 + 1000}
                os.rename(point + ("/Empty", "/0", "/1", "/2")[turn], point + f"/{turn}")
            assert browser.post(path + "/finish")["state"] == "saved"
            assert get(point + "/3/Photo/a.jpg") == b"x" * 4000
        """)
    }
  }

  @Test func anUploadGoesOnAfterWhateverEndedIt() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        content = random.Random(2).randbytes(6_000_000)
        order = lambda album: dict(album=album["id"], folders=[], name="film.mov", size=len(content), modified=5)
        def daemon(point):
            status = subprocess.run(["albumfs", "status", "--json", point], capture_output=True, check=True)
            return json.loads(status.stdout)["pid"]
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            empty = browser.albums()["Empty"]
            saved = browser.upload(empty, "saved.jpg", content[:100_000])
            assert saved["state"] == "saved"
            # A connection that breaks in the middle of a slice.
            begun = browser.post("/api/uploads", order(empty))
            raw = browser.connect(); raw.connect()
            raw.sock.sendall((f"PUT /api/uploads/{begun['upload']}?offset=0 HTTP/1.1\\r\\nHost: 127.0.0.1:{server.port}\\r\\n"
                f"Origin: {browser.origin}\\r\\nX-Albumfs: 1\\r\\nCookie: __Host-albumfs={browser.cookie}\\r\\n"
                f"Content-Length: 2000000\\r\\n\\r\\n").encode() + content[:1_200_000])
            def arrived():
                hidden = [each for each in os.scandir(point + "/Empty/Photo") if each.name.startswith(".")]
                return hidden and hidden[0].stat().st_size > 0
            eventually(arrived); raw.sock.close()
            def offset():
                try: return browser.get(f"/api/uploads/{begun['upload']}")["offset"]
                except Refused: return 0
            first = eventually(offset)
            assert 0 < first <= 1_200_000, first
            # A server that is killed: the next one finds the upload.
            server.stop(signal.SIGKILL)
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            empty = browser.albums()["Empty"]
            assert get(point + "/Empty/Photo/saved.jpg") == content[:100_000]
            again = browser.post("/api/uploads", order(empty))
            assert 0 < again["offset"] <= 1_200_000, again
            assert browser.prove(again, content) == again["offset"]
            part = content[again["offset"]:again["offset"] + 2_000_000]
            before = browser.ask("PUT", f"/api/uploads/{again['upload']}?offset={again['offset']}", part)["offset"]
            second = browser.upload(empty, "second.jpg", content[:50_000])
            assert second["state"] == "saved"
            # A daemon that is killed takes nothing that was saved with it.
            os.kill(daemon(point), signal.SIGKILL)
            def is_locked():
                try: browser.get("/api/session")
                except Refused as error: return error.code == "session"
            eventually(is_locked)
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            empty = browser.albums()["Empty"]
            assert get(point + "/Empty/Photo/second.jpg") == content[:50_000]
            assert get(point + "/Empty/Photo/saved.jpg") == content[:100_000]
            assert browser.upload(empty, "film.mov", content, modified=5)["state"] == "saved"
            assert get(point + "/Empty/Photo/film.mov") == content
            names = sorted(os.listdir(point + "/Empty/Photo"))
            assert names == ["film.mov", "saved.jpg", "second.jpg"], names
            # What nobody continued for a week goes at the next login.
            stale = point + "/Empty/Photo/.albumfs-upload-00000000000000000000000000000000"
            fresh = stale[:-1] + "1"
            put(stale); put(fresh); os.utime(stale, (1, 1))
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            eventually(lambda: not os.path.exists(point + stale[stale.index("/Empty/"):]))
            assert os.path.exists(point + fresh[fresh.index("/Empty/"):])
        """)
    }
  }
}
