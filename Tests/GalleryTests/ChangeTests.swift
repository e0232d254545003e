import AlbumTestSupport
import Testing

/// What a person changes in the gallery, and takes out of it.
@Suite(.serialized, .timeLimit(.minutes(30))) struct ChangeTests {
  @Test func albumsAreMadeRenamedMovedAndGetCovers() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            made = browser.post("/api/albums", {"parent": None, "name": "Größe 1"})["album"]
            assert made["name"] == "Größe 1" and os.path.isdir(point + "/Größe 1/Photo")
            inner = browser.post("/api/albums", {"parent": made["id"], "name": "Inner"})["album"]
            assert inner["parent"] == made["id"]
            refused(409, "exists", browser.post, "/api/albums", {"parent": None, "name": "Trip"})
            for name in ("", ".", "..", ".hidden", "a/b", "../x", "a\\0b", "Photo", "Thumb", "a\\nb", "x" * 256,
                         "#recycle", "@EADIR", "lost+found"):
                refused(400, "name", browser.post, "/api/albums", {"parent": None, "name": name})
                refused(400, "name", browser.post, "/api/albums/" + inner["id"], {"name": name})
            assert sorted(os.listdir(point)) == ["Empty", "Größe 1", "Trip"]
            renamed = browser.post("/api/albums/" + made["id"], {"name": "Size"})["album"]
            assert renamed["id"] == made["id"] and os.path.isdir(point + "/Size/Inner/Photo")
            moved = browser.post("/api/albums/" + inner["id"], {"parent": None})["album"]
            assert moved["parent"] is None and os.path.isdir(point + "/Inner/Photo")
            refused(400, "invalid", browser.post, "/api/albums/" + made["id"], {"parent": made["id"]})
            refused(409, "exists", browser.post, "/api/albums/" + inner["id"], {"name": "Trip"})
            # Renamed by another program, it stays an album. What that program makes for itself is none.
            os.rename(point + "/Inner", point + "/#recycle")
            os.mkdir(point + "/@eaDir")
            eventually(lambda: "#recycle" in browser.albums() and "Inner" not in browser.albums())
            assert "@eaDir" not in browser.albums()
            assert browser.post("/api/albums/" + inner["id"], {"name": "Inner"})["album"]["id"] == inner["id"]
            trip = browser.albums()["Trip"]
            last = browser.photo(trip, "IMG_10.jpg")
            assert browser.post("/api/albums/" + trip["id"], {"cover": last["id"]})["album"]["cover"] == last["id"]
            assert os.getxattr(point + "/Trip", "user.albumfs.cover") == b"IMG_10.jpg"
            assert browser.post("/api/albums/" + trip["id"], {"cover": None})["album"]["cover"] != last["id"]
            named = browser.post("/api/photo/" + last["id"], {"name": "last.jpg"})
            assert named["name"] == "last.jpg" and named["id"] == last["id"]
            refused(409, "exists", browser.post, "/api/photo/" + last["id"], {"name": "IMG_1.jpg"})
            # What another program put in the place of an album a moment ago is not changed in its stead.
            os.rename(point + "/Size", point + "/Elsewhere"); os.mkdir(point + "/Size")
            try: assert browser.post("/api/albums/" + made["id"], {"name": "Small"})["album"]["name"] == "Small"
            except Refused as error: assert (error.status, error.code) == (404, "unknown"), error
            assert os.path.isdir(point + "/Size")
            # What goes into an album goes into that one, also when two have changed their names a moment ago.
            pair = [browser.post("/api/albums", {"name": name, "parent": None})["album"] for name in ("P", "Q")]
            for old, new in (("P", "R"), ("Q", "P"), ("R", "Q")): os.rename(f"{point}/{old}", f"{point}/{new}")
            browser.upload(pair[0], "mine.jpg", b"not a picture")
            try: browser.post("/api/albums", {"name": "Inner", "parent": pair[0]["id"]})
            except Refused as error: assert (error.status, error.code) == (404, "unknown"), error
            assert os.listdir(point + "/Q/Photo") == ["mine.jpg"] and os.listdir(point + "/P/Photo") == []
            assert not os.path.exists(point + "/P/Inner")
            # A turn is an attribute, which the thumbnail follows.
            assert browser.post("/api/photo/" + last["id"], {"rotation": 90})["rotation"] == 90
            assert os.getxattr(point + "/Trip/Photo/last.jpg", "user.albumfs.rotation") == b"90"
            eventually(lambda: browser.photo(trip, "last.jpg")["thumb"] not in (0, last["thumb"]))
            refused(400, "invalid", browser.post, "/api/photo/" + last["id"], {"rotation": 45})
            for name in ("../IMG.jpg", ".x.jpg", "a/b.jpg"):
                order = {"name": name, "caption": "Noon", "rotation": 180}
                refused(400, "name", browser.post, "/api/photo/" + last["id"], order)
            assert os.getxattr(point + "/Trip/Photo/last.jpg", "user.albumfs.rotation") == b"90"
            assert "user.albumfs.caption" not in os.listxattr(point + "/Trip/Photo/last.jpg")
            # The id of a photo never gives what another program put in its place.
            gone = browser.photo(trip, "IMG_2.jpg")
            picture = open(point + "/Trip/Photo/IMG_1.jpg", "rb").read()
            with open(point + "/Trip/Photo/new.jpg", "wb") as file: file.write(picture)
            os.rename(point + "/Trip/Photo/new.jpg", point + "/Trip/Photo/IMG_2.jpg")
            for path in ("/api/original/" + gone["id"], "/api/preview/" + gone["id"] + "?edge=256"):
                refused(404, "unknown", browser.get, path)
        """)
    }
  }

  /// Another program exchanges the names of two files all the time. What is done with the id of one is never
  /// done with the other one.
  @Test func noCallTakesTheOtherFileWhileNamesAreExchanged() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        import ctypes
        libc = ctypes.CDLL(None)
        with Server(S, delays="undo=0.1") as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            here, there = point + "/Empty/Photo/", point + "/There/Photo/"
            empty = browser.albums()["Empty"]
            target = browser.post("/api/albums", {"parent": None, "name": "There"})["album"]
            kinds = ("rename", "move", "copy", "delete")
            for kind in kinds:
                for which in ("mine", "other"):
                    with open(f"{here}{kind}-{which}.txt", "w") as file: file.write(f"{kind}-{which}")
            eventually(lambda: len(browser.photos(empty)) == 8)
            ids = {photo["name"]: photo["id"] for photo in browser.photos(empty)}
            over = threading.Event()
            def exchange(kind):
                pair = [f"{here}{kind}-{which}.txt".encode() for which in ("mine", "other")]
                while not over.is_set(): libc.renameat2(-100, pair[0], -100, pair[1], 2)
            def is_done(kind, id):
                try:
                    if kind == "rename": return browser.post("/api/photo/" + id, {"name": "renamed.txt"})
                    order = {"kind": kind, "ids": [id]}
                    if kind != "delete": order["album"] = target["id"]
                    job = browser.post("/api/jobs", order)["job"]
                except Refused as error:
                    assert error.code in ("unknown", "exists"), error
                    return False
                return not browser.wait(job)["errors"]
            def contents(folder): return sorted(open(folder + name).read() for name in os.listdir(folder))
            for kind in kinds:
                over.clear()
                thread = threading.Thread(target=exchange, args=(kind,))
                thread.start()
                try: tries = [is_done(kind, ids[f"{kind}-mine.txt"]) for _ in range(6)]
                finally:
                    over.set()
                    thread.join()
                assert f"{kind}-other" in contents(here), (kind, contents(here), contents(there))
                assert not any("other" in text for text in contents(there)), (kind, contents(there))
                if os.path.exists(here + "renamed.txt"): assert open(here + "renamed.txt").read() == "rename-mine"
        """)
    }
  }

  @Test func whatWasDeletedComesBackOrGoesForGoodWithThePassword() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser, other = Browser(server, PASSWORD), Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            trip = browser.albums()["Trip"]
            eventually(lambda: all(photo["thumb"] != 0 for photo in browser.photos(trip)))
            original = open(point + "/Trip/Photo/IMG_1.jpg", "rb").read()
            for name in ("IMG_1.jpg", "IMG_2.jpg"): os.remove(point + "/Trip/Photo/" + name)
            files = {file["path"][-1]: file for file in browser.get("/api/deleted")["files"]}
            assert sorted(files) == ["IMG_1.jpg", "IMG_2.jpg"]
            first, second = files["IMG_1.jpg"], files["IMG_2.jpg"]
            assert first["path"] == ["Trip", "Photo", "IMG_1.jpg"] and first["cause"] == "removed"
            assert first["size"] == len(original) and 29 * 86400 < first["secondsLeft"] <= 30 * 86400
            assert browser.get(f"/api/deleted/{first['id']}/thumb")[:1] in (b"\\xff", b"\\x89", b"R")
            # The id of another session is unknown.
            refused(404, "unknown", other.post, "/api/deleted/restore", {"ids": [first["id"]]})
            assert browser.post("/api/deleted/restore", {"ids": [first["id"]]}) == {"count": 1, "renamed": 0}
            assert open(point + "/Trip/Photo/IMG_1.jpg", "rb").read() == original
            refused(404, "unknown", browser.post, "/api/deleted/restore", {"ids": [first["id"]]})
            for password in ("", "wrong", "a\\nb"):
                refused(403, "refused", browser.post, "/api/deleted/purge",
                        {"ids": [second["id"]], "password": password})
            assert len(browser.get("/api/deleted")["files"]) == 1
            browser.post("/api/deleted/purge", {"ids": [second["id"]], "password": PASSWORD})
            assert browser.get("/api/deleted")["files"] == []
            # What a photo was before another program overwrote it.
            photo = browser.photo(trip, "IMG_1.jpg")
            assert browser.get(f"/api/photo/{photo['id']}/earlier")["files"] == []
            with open(point + "/Trip/Photo/IMG_1.jpg", "r+b") as file: file.write(b"CRYPT")
            earlier = eventually(lambda: browser.get(f"/api/photo/{photo['id']}/earlier")["files"])
            assert len(earlier) == 1 and earlier[0]["cause"] == "overwritten"
            assert browser.post("/api/deleted/restore", {"ids": [earlier[0]["id"]]}) == {"count": 1, "renamed": 1}
            assert open(point + "/Trip/Photo/IMG_1 (restored).jpg", "rb").read() == original
        """)
    }
  }

  @Test func deletionWaitsAndCanBeUndone() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S, delays="undo=600") as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            trip = browser.albums()["Trip"]
            ids = [photo["id"] for photo in browser.photos(trip) if photo["name"].startswith("IMG")]
            job = browser.post("/api/jobs", {"kind": "delete", "ids": ids})["job"]
            assert job["state"] == "pending" and job["total"] == 3
            # Out of sight at once, and back after an undo.
            assert len(browser.photos(trip)) == 3 and browser.albums()["Trip"]["photos"] == 2
            refused(404, "unknown", browser.get, "/api/original/" + ids[0])
            browser.post(f"/api/jobs/{job['id']}/cancel")
            assert len(browser.photos(trip)) == 6
            # And they can be deleted again at once, however often.
            for _ in range(5):
                job = browser.post("/api/jobs", {"kind": "delete", "ids": ids})["job"]
                assert len(browser.photos(trip)) == 3
                browser.post(f"/api/jobs/{job['id']}/cancel")
            browser.wait(job, "cancelled")
            assert len(browser.photos(trip)) == 6
            job = browser.post("/api/jobs", {"kind": "delete", "ids": ids[:1]})["job"]
            browser.post(f"/api/jobs/{job['id']}/now")
            job = browser.wait(job)
            assert (job["done"], job["errors"]) == (1, []) and not os.path.exists(point + "/Trip/Photo/IMG_1.jpg")
            assert len(browser.photos(trip)) == 5
        with Server(S, delays="undo=3") as server:
            browser, other = Browser(server, PASSWORD), Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            # A lock within the time to undo removes nothing.
            ids = {photo["name"]: photo["id"] for photo in browser.photos(browser.albums()["Trip"])}
            browser.post("/api/jobs", {"kind": "delete", "ids": [ids["IMG_2.jpg"]]})
            browser.post("/api/lock")
            eventually(lambda: len(other.photos(other.albums()["Trip"])) == 5)
            # What another one deletes later is gone first.
            ids = {photo["name"]: photo["id"] for photo in other.photos(other.albums()["Trip"])}
            other.wait(other.post("/api/jobs", {"kind": "delete", "ids": [ids["notes.txt"]]})["job"])
            assert not os.path.exists(point + "/Trip/Photo/notes.txt")
            assert os.path.exists(point + "/Trip/Photo/IMG_2.jpg")
            # An album with all in it, albums and deep folders too.
            os.makedirs(point + "/Trip/Photo/" + "deep/" * 200)
            os.makedirs(point + "/Trip/" + "Below/" * 20)
            trip = eventually(lambda: "Below" in other.albums() and other.albums()["Trip"])
            job = other.post(f"/api/albums/{trip['id']}/delete")["job"]
            assert set(other.albums()) == {"Empty"}
            other.wait(job)
            assert os.listdir(point) == ["Empty"] and set(other.albums()) == {"Empty"}
        """)
    }
  }

  @Test func photosAreMovedAndCopied() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            albums = browser.albums()
            trip, empty = albums["Trip"], albums["Empty"]
            first = browser.photo(trip, "IMG_1.jpg")
            put(point + "/Empty/Photo/IMG_1.jpg", b"another")
            modified = os.stat(point + "/Trip/Photo/IMG_1.jpg").st_mtime_ns
            os.setxattr(point + "/Trip/Photo/IMG_1.jpg", "user.rating", b"5")
            job = browser.post("/api/jobs", {"kind": "copy", "ids": [first["id"]], "album": empty["id"]})["job"]
            assert browser.wait(job)["errors"] == []
            copy = point + "/Empty/Photo/IMG_1 (2).jpg"
            assert get(copy) == get(W + "/picture.jpg") and os.stat(copy).st_mtime_ns == modified
            assert os.getxattr(copy, "user.rating") == b"5"
            job = browser.post("/api/jobs", {"kind": "move", "ids": [first["id"]], "album": empty["id"]})["job"]
            assert browser.wait(job)["errors"] == []
            assert not os.path.exists(point + "/Trip/Photo/IMG_1.jpg")
            about = browser.get("/api/photo/" + first["id"])
            assert about["name"] == "IMG_1 (3).jpg" and about["path"] == ["Empty"], about
            assert sorted(os.listdir(point + "/Empty/Photo")) == ["IMG_1 (2).jpg", "IMG_1 (3).jpg", "IMG_1.jpg"]
            # What is gone meanwhile is named at the end.
            second = browser.photo(trip, "IMG_2.jpg")
            job = browser.post("/api/jobs", {"kind": "delete", "ids": [second["id"]]})["job"]
            os.remove(point + "/Trip/Photo/IMG_2.jpg")
            browser.post(f"/api/jobs/{job['id']}/now")
            assert [error["error"] for error in browser.wait(job)["errors"]] == ["unknown"]
            refused(404, "unknown", browser.post, "/api/jobs", {"kind": "move", "ids": ["x"], "album": empty["id"]})
            refused(404, "unknown", browser.get, "/api/jobs/none")
        with Server(S, "--read-only") as server:
            browser = Browser(server, PASSWORD)
            assert browser.get("/api/session")["readOnly"] is True
            ids = [photo["id"] for photo in browser.photos(browser.albums()["Trip"])]
            refused(403, "readonly", browser.post, "/api/jobs", {"kind": "delete", "ids": ids})
            refused(403, "readonly", browser.post, "/api/albums", {"parent": None, "name": "x"})
        """)
    }
  }

  @Test func aSelectionComesAsOneZipFile() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            put(point + "/Trip/Day/Photo/IMG_1.jpg", b"other"); put(point + "/Trip/Photo/größe ☃.png", b"\\x89PNG")
            put(point + "/Trip/Photo/empty.jpg", b""); put(point + "/Trip/Photo/large.mov", os.urandom(5 << 20))
            eventually(lambda: len(browser.photos(view="all")) == 11)
            chosen = browser.photos(view="all")
            def follow(what, by=browser):
                # As a browser follows a link of the page.
                return by.send("GET", "/api/downloads/" + browser.post("/api/downloads", what)["download"], drop=["X-Albumfs"])
            def download(what):
                status, headers, body = follow(what)
                assert status == 200 and headers["content-disposition"] == 'attachment; filename="Album.zip"'
                found = zipfile.ZipFile(io.BytesIO(body))
                assert found.testzip() is None and {item.compress_type for item in found.infolist()} == {0}
                return {item.filename: found.read(item) for item in found.infolist()}
            found = download({"ids": [photo["id"] for photo in chosen]})
            assert len(found) == 11 and {"IMG_1.jpg", "IMG_1 (2).jpg", "größe ☃.png", "empty.jpg"} <= set(found), set(found)
            assert found["large.mov"] == get(point + "/Trip/Photo/large.mov")
            assert {found["IMG_1.jpg"], found["IMG_1 (2).jpg"]} == {b"other", get(W + "/picture.jpg")}
            found = download({"album": browser.albums()["Trip"]["id"]})
            assert found["Day/IMG_1.jpg"] == b"other" and found["IMG_1.jpg"] == get(W + "/picture.jpg"), set(found)
            # One photo comes as it is.
            one = {"ids": [chosen[0]["id"]]}
            status, headers, body = follow(one)
            assert chosen[0]["name"] in headers["content-disposition"] and len(body) == chosen[0]["size"]
            # Only pages of this server may choose, and only this session has what it chose.
            for origin in (None, "https://elsewhere.example"):
                headers = {"Origin": origin} if origin else {}
                status, _, body = browser.send("POST", "/api/downloads", json.dumps(one), headers=headers,
                                               drop=[] if origin else ["Origin"])
                assert (status, json.loads(body)["error"]) == (403, "origin")
            assert follow(one, by=Browser(server))[0] == 401
            assert follow(one, by=Browser(server, PASSWORD))[0] == 404
            for what in ({}, {"ids": []}, {"ids": "x"}): refused(400, "invalid", browser.post, "/api/downloads", what)
            refused(404, "unknown", browser.post, "/api/downloads", {"ids": [chosen[0]["id"], "x"]})
            refused(404, "unknown", browser.post, "/api/downloads", {"album": "x"})
            # What was removed since it was chosen is left out.
            choice = browser.post("/api/downloads", {"ids": [photo["id"] for photo in chosen]})["download"]
            os.remove(point + "/Trip/Photo/empty.jpg")
            eventually(lambda: len(browser.photos(view="all")) == 10)
            found = zipfile.ZipFile(io.BytesIO(browser.get("/api/downloads/" + choice)))
            assert len(found.namelist()) == 10 and "empty.jpg" not in found.namelist()
            # A page may choose as often as it likes; the oldest choices are forgotten.
            for _ in range(16): browser.post("/api/downloads", one)
            refused(404, "unknown", browser.get, "/api/downloads/" + choice)
        """)
    }
  }
}
