import AlbumTestSupport
import Testing

/// Albums, photos, thumbnails, originals: what a browser sees is what the space holds.
@Suite(.serialized, .timeLimit(.minutes(30))) struct BrowseTests {
  @Test func listingsShowWhatTheSpaceHolds() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            albums = browser.albums()
            trip, day, empty = (albums[name] for name in ("Trip", "Day", "Empty"))
            assert trip["parent"] is None and day["parent"] == trip["id"]
            assert (trip["photos"], trip["others"], day["photos"], empty["photos"]) == (5, 1, 1, 0), albums
            assert empty["cover"] is None
            photos = browser.photos(trip)
            assert [photo["name"] for photo in photos] == [
                "direct.jpg", "film.mp4", "IMG_1.jpg", "IMG_2.jpg", "IMG_10.jpg", "notes.txt"], photos
            kinds = {photo["name"]: photo["kind"] for photo in photos}
            assert (kinds["film.mp4"], kinds["notes.txt"], kinds["IMG_1.jpg"]) == ("video", "other", "photo")
            assert trip["cover"] == browser.photo(trip, "IMG_1.jpg")["id"]
            picture = browser.photo(trip, "IMG_1.jpg")
            assert picture["size"] == os.path.getsize(W + "/picture.jpg") and picture["album"] == trip["id"]
            assert picture["thumb"] > 0 and browser.photo(trip, "notes.txt")["thumb"] == -1
            eventually(lambda: browser.photo(trip, "IMG_1.jpg")["width"] > 0)
            for view in ("all", "recent", "date"): assert len(browser.photos(view=view)) == 7
            # A page may ask for a part.
            part = browser.get("/api/photos?view=all&from=2&limit=3")
            assert part["count"] == 7 and part["name"] == [photo["name"] for photo in browser.photos(view="all")][2:5]
            assert browser.get("/api/photos?view=all&from=7&limit=5")["id"] == []
            refused(400, "invalid", browser.get, "/api/photos?view=all&from=-1")
            modified = [photo["modified"] for photo in browser.photos(view="recent")]
            assert modified == sorted(modified, reverse=True)
            about = browser.get("/api/photo/" + picture["id"])
            assert about["name"] == "IMG_1.jpg" and about["path"] == ["Trip"] and about["rotation"] == 0
            # Thumbnails, one and many.
            thumb = browser.get("/api/thumb/" + picture["id"])
            assert thumb == get(point + "/Trip/Thumb/IMG_1.jpg")
            refused(404, "unknown", browser.get, "/api/thumb/" + browser.photo(trip, "film.mp4")["id"])
            ids = [photo["id"] for photo in photos] + ["nothing"]
            body, sizes = browser.get("/api/thumbs?ids=" + ",".join(ids)), []
            for _ in ids:
                size = int.from_bytes(body[:4], "big"); sizes.append(size)
                if size: assert body[4:4 + size] == thumb
                body = body[4 + size:]
            assert not body and [size > 0 for size in sizes] == [True, False, True, True, True, False, False]
            # A preview is decoded on demand, and bounded.
            preview = browser.get(f"/api/preview/{picture['id']}?edge=256")
            assert preview[:2] == b"\\xff\\xd8" or preview[:4] == b"\\x89PNG"
            refused(400, "invalid", browser.get, f"/api/preview/{picture['id']}?edge=9999")
            refused(404, "unknown", browser.get, f"/api/preview/{browser.photo(trip, 'notes.txt')['id']}?edge=512")
            # A photo beside Photo has no thumbnail of another one.
            with open(point + "/Trip/IMG_2.jpg", "wb") as file: file.write(get(W + "/picture.jpg") + b"another")
            def twins(): return [photo for photo in browser.photos(trip) if photo["name"] == "IMG_2.jpg"]
            eventually(lambda: sorted(photo["thumb"] > 0 for photo in twins()) == [False, True])
            bare, = [photo for photo in twins() if photo["thumb"] <= 0]
            assert bare["size"] == os.path.getsize(point + "/Trip/IMG_2.jpg")
            refused(404, "unknown", browser.get, "/api/thumb/" + bare["id"])
        """)
    }
  }

  @Test func manyAlbumsAreKnownSoonAndShowAPictureOfWhatIsInThem() throws {
    try GalleryStore.use { mounted in
      try mounted.mount()
      try mounted.sh(
        """
        for i in $(seq 60); do mkdir $M/A$i; cp $W/picture.jpg $M/A$i/Photo/a.jpg; done
        mkdir $M/Outer $M/Outer/A $M/Outer/B $M/Outer/B/Deep $M/Film
        cp $W/picture.jpg $M/Outer/B/Deep/Photo/deep.jpg
        ffmpeg -v error -f lavfi -i testsrc=d=1:r=5 -pix_fmt yuv420p $W/film.mp4
        cp $W/film.mp4 $M/Film/Photo/film.mp4; echo text > $M/Film/Photo/a.txt
        """)
      try mounted.sync()
      try mounted.unmount()
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            eventually(lambda: all(photo["width"] > 0 for photo in browser.photos(view="all")
                                   if photo["kind"] == "photo"))
            # Pages draw themselves anew with each revision: what was read of many albums is one.
            known = browser.get("/api/albums")
            assert known["revision"] < len(known["albums"]) + 25, (known["revision"], len(known["albums"]))
            albums = {album["name"]: album for album in known["albums"]}
            deep, film = browser.photo(albums["Deep"], "deep.jpg"), browser.photo(albums["Film"], "film.mp4")
            for name in ("Deep", "B", "Outer"):
                assert (albums[name]["cover"], albums[name]["coverThumb"]) == (deep["id"], deep["thumb"]), name
            assert albums["A"]["cover"] is None
            assert film["thumb"] > 0 and albums["Film"]["cover"] == film["id"]
            # A photo that is about to be deleted is no cover.
            browser.post("/api/jobs", {"kind": "delete", "ids": [deep["id"]]})
            assert [browser.albums()[name]["cover"] for name in ("Deep", "B", "Outer")] == [None] * 3
        """)
    }
  }

  @Test func thePageComesFromTheProgramItself() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        folder = os.path.join(os.path.dirname(gallery.__file__), "../../../Sources/Gallery/Pages")
        with Server(S) as server:
            browser = Browser(server)
            for name in os.listdir(folder):
                path = "/" if name == "index.html" else "/" + name
                status, headers, content = browser.send("GET", path, drop=["X-Albumfs"])
                assert status == 200 and content == get(os.path.join(folder, name)), name
                kind = {"js": "text/javascript", "css": "text/css", "html": "text/html"}[name.split(".")[-1]]
                assert headers["content-type"] == kind + "; charset=utf-8", headers
            # Browsers speak HTTP/2.
            told = subprocess.run(["curl", "-sk", "--http2", "-o", "/dev/null", "-w", "%{http_version}", browser.origin + "/"],
                                  capture_output=True, check=True)
            assert told.stdout == b"2", told
        """)
    }
  }

  @Test func originalsComeWholeAndInRanges() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            trip = browser.albums()["Trip"]
            film, picture = browser.photo(trip, "film.mp4"), browser.photo(trip, "IMG_1.jpg")
            content = "".join(f"{number}\\n" for number in range(1, 100001)).encode()
            path = "/api/original/" + film["id"]
            assert browser.get(path) == content
            status, headers, body = browser.send("GET", "/api/original/" + picture["id"])
            assert headers["content-type"] == "image/jpeg" and body == get(W + "/picture.jpg")
            status, headers, body = browser.send("GET", path + "?download=1")
            assert headers["content-type"] == "application/octet-stream" and "film.mp4" in headers["content-disposition"]
            # A name to save has no characters that nobody sees, but those that scripts and emoji need.
            browser.post("/api/photo/" + film["id"], {"name": "Bill \\u202egpj ❤\\u200d.mp4"})
            told = browser.send("GET", path + "?download=1")[1]["content-disposition"]
            assert 'filename="Bill _gpj ______.mp4"' in told, told
            assert told.endswith("; filename*=UTF-8''Bill%20_gpj%20%E2%9D%A4%E2%80%8D.mp4"), told
            browser.post("/api/photo/" + film["id"], {"name": "film.mp4"})
            size = len(content)
            for asked, part in (("0-0", (0, 1)), ("100-199", (100, 200)), ("100-", (100, size)),
                                ("-50", (size - 50, size)), (f"{size - 1}-{size + 5}", (size - 1, size)),
                                (f"-{size * 2}", (0, size))):
                status, headers, body = browser.send("GET", path, headers={"Range": "bytes=" + asked})
                assert (status, body) == (206, content[part[0]:part[1]]), (asked, status, len(body))
                assert headers["content-range"] == f"bytes {part[0]}-{part[1] - 1}/{size}"
            for asked in (f"{size}-", "-0", "99999999999999999999-"):
                status, headers, body = browser.send("GET", path, headers={"Range": "bytes=" + asked})
                assert status == 416 and headers["content-range"] == f"bytes */{size}", (asked, status)
            # A part of the version that the browser has, and else the whole.
            status, headers, body = browser.send("GET", path, headers={"Range": "bytes=0-9"})
            assert status == 206 and re.fullmatch('"[0-9a-z-]+"', headers["etag"]), headers
            for version, expected in ((headers["etag"], 206), ('"other"', 200), ("Thu, 26 Nov 2026 15:00:00 GMT", 200)):
                again = browser.send("GET", path, headers={"Range": "bytes=0-9", "If-Range": version})
                assert again[0] == expected and again[1]["etag"] == headers["etag"], (version, again[:2])
            for asked in ("bytes=5-2", "bytes=a-b", "lines=1-2", "bytes=0-1,5-6"):
                assert browser.send("GET", path, headers={"Range": asked})[0] == 200
            # A <video> sends no header of ours; it needs the cookie all the same.
            status, headers, body = browser.send("GET", "/api/video/" + film["id"], drop=["X-Albumfs"])
            assert status == 200 and body == content and headers["accept-ranges"] == "bytes"
            assert Browser(server).send("GET", "/api/video/" + film["id"])[0] == 401
            status, headers, body = browser.send("HEAD", path)
            assert status == 200 and body == b"" and headers["content-length"] == str(size)
        """)
    }
  }

  @Test func whatAnybodyChangesShowsByItself() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S, delays="changes=2") as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            def rest():
                # Waits until a page is told that nothing has changed; returns the revision.
                def unchanged():
                    since = browser.get("/api/albums")["revision"]
                    found = browser.get(f"/api/changes?since={since}")
                    return found if found["revision"] == since else None
                found = eventually(unchanged)
                assert not found["albums"] and found["in"] == [], found
                return found["revision"]
            def change(act):
                # Acts while the answer is waited for; returns the answer that comes then.
                since = rest()
                threading.Thread(target=act).start()
                while (found := browser.get(f"/api/changes?since={since}"))["revision"] == since: pass
                assert found["revision"] > since, found
                return found
            trip = browser.albums()["Trip"]
            photo = browser.photo(trip, "IMG_1.jpg")
            found = change(lambda: os.rename(point + "/Trip/Photo/IMG_1.jpg", point + "/Trip/Photo/new.jpg"))
            assert trip["id"] in found["in"]
            eventually(lambda: browser.get("/api/photo/" + photo["id"])["name"] == "new.jpg")
            for year in (1971, 1972):
                text = f"{year}-01-01T00:00:00"
                change(lambda: os.setxattr(point + "/Trip/Photo/new.jpg", "user.albumfs.taken", text.encode()))
                seconds = (year - 1970) * 365 * 86400
                eventually(lambda: browser.get("/api/photo/" + photo["id"])["taken"] == seconds)
                assert browser.photo(trip, "new.jpg")["taken"] == seconds
            # A picture without a date goes by its name, and by the next one after a rename.
            import struct, zlib
            def chunk(kind, body):
                return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
            with open(point + "/Trip/Photo/IMG-20190505-WA0001.png", "wb") as file:
                file.write(bytes.fromhex("89504e470d0a1a0a")
                    + chunk(b"IHDR", struct.pack(">IIBBBBB", 200, 200, 8, 0, 0, 0, 0))
                    + chunk(b"IDAT", zlib.compress(bytes(201 * 200))) + chunk(b"IEND", b""))
            chat = eventually(lambda: next((p for p in browser.photos(trip) if "WA0001" in p["name"]), None))
            def taken(): return browser.get("/api/photo/" + chat["id"])["taken"]
            eventually(lambda: taken() == 1_557_014_400)
            change(lambda: os.rename(
                point + "/Trip/Photo/IMG-20190505-WA0001.png", point + "/Trip/Photo/IMG-20190506-WA0001.png"))
            eventually(lambda: taken() == 1_557_014_400 + 86_400)
            os.remove(point + "/Trip/Photo/IMG-20190506-WA0001.png")
            assert change(lambda: os.mkdir(point + "/Another"))["albums"]
            eventually(lambda: "Another" in browser.albums())
            os.rename(point + "/Trip/Photo/new.jpg", point + "/Another/Photo/moved.jpg")
            eventually(lambda: browser.get("/api/photo/" + photo["id"])["path"] == ["Another"])
            os.rename(point + "/Trip/Day", point + "/Empty/Day")
            eventually(lambda: browser.albums()["Day"]["parent"] == browser.albums()["Empty"]["id"])
            subprocess.run(["cp", W + "/picture.jpg", point + "/Another/Photo/shot.jpg"], check=True)
            another = browser.albums()["Another"]
            eventually(lambda: any(p["name"] == "shot.jpg" and p["thumb"] > 0 for p in browser.photos(another)))
            subprocess.run(["rm", "-r", point + "/Another"], check=True)
            eventually(lambda: "Another" not in browser.albums())
            refused(404, "unknown", browser.get, "/api/photo/" + photo["id"])
            # What the daemon changes by itself makes no call: tidy.
            subprocess.run(["albumfs", "tidy", "-q", point + "/Trip"], check=True)
            eventually(lambda: os.path.exists(point + "/Trip/Photo/direct.jpg"))
            trip = browser.albums()["Trip"]
            direct = browser.photo(trip, "direct.jpg")
            def is_shown():
                try: return browser.get("/api/original/" + direct["id"]) == get(W + "/picture.jpg")
                except Refused: return False
            eventually(is_shown)
            # So quickly that the clock of the kernel does not go on.
            for number in range(100):
                os.makedirs(point + f"/Quick/{number}")
                with open(point + f"/Quick/{number}/Photo/.part", "wb") as file: file.write(b"photo")
                os.rename(point + f"/Quick/{number}/Photo/.part", point + f"/Quick/{number}/Photo/a.jpg")
            eventually(lambda: all(browser.albums().get(str(n), {"photos": 0})["photos"] == 1 for n in range(100)))
            rest()
        """)
    }
  }
}
