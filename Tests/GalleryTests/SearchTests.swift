import AlbumTestSupport
import Foundation
import Testing

/// Finding photos again: the search of the gallery, and what people say of photos.
@Suite(.serialized, .timeLimit(.minutes(30))) struct SearchTests {
  @Test func aSearchFindsWhatNamesAlbumsAndNotesSay() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        def found(browser, text): return sorted(
            browser.get("/api/photos?search=" + urllib.parse.quote(text))["name"])
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            assert found(browser, "img") == ["IMG_1.jpg", "IMG_10.jpg", "IMG_2.jpg"]
            assert found(browser, "trip day") == ["day.jpg"] and found(browser, "nothing") == []
            assert found(browser, "video") == ["film.mp4"] and found(browser, "") == []
            assert found(browser, "img -10") == ["IMG_1.jpg", "IMG_2.jpg"]
            # A part of what was found, and names that are no words of a query.
            part = browser.get("/api/photos?search=img&from=1&limit=1")
            assert part["count"] == 3 and len(part["id"]) == 1
            for odd in ('"', "-", ":", "tag:", "\\u0000", "x" * 5000): found(browser, odd)
            # What programs write into attributes, and what the page writes.
            photo = point + "/Trip/Photo/IMG_1.jpg"
            os.setxattr(photo, "user.albumfs.caption", "Müller's garden".encode())
            os.setxattr(photo, "user.albumfs.camera", b"Leica M3")
            eventually(lambda: found(browser, "muller garden") == ["IMG_1.jpg"])
            assert found(browser, "camera:leica") == ["IMG_1.jpg"]
            os.removexattr(photo, "user.albumfs.caption")
            eventually(lambda: found(browser, "muller") == [])
        """)
    }
  }

  @Test(
    .enabled(
      if: FileManager.default.fileExists(atPath: "/usr/share/libtimezonemap/ui/cities15000.txt"),
      "needs libtimezonemap-data"))
  func aSearchFindsWhatWasTakenNearATownAndInformationNamesIt() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            def found(text): return browser.get("/api/photos?search=" + urllib.parse.quote(text))["name"]
            assert found("paris") == [] and found("place:paris") == []
            os.setxattr(point + "/Trip/Photo/IMG_2.jpg", "user.albumfs.place", b"48.8584,2.2945")
            eventually(lambda: found("paris") == ["IMG_2.jpg"])
            assert found("place:par") == ["IMG_2.jpg"] and found("ort:lyon") == [] and found("img france")
            about = browser.get("/api/photo/" + browser.photo(browser.albums()["Trip"], "IMG_2.jpg")["id"])
            assert about["near"] == "Paris, France" and about["latitude"] == 48.8584, about
            other = browser.get("/api/photo/" + browser.photo(browser.albums()["Trip"], "IMG_1.jpg")["id"])
            assert other["near"] is None and other["latitude"] is None, other
            # All towns with their photos.
            os.setxattr(point + "/Trip/Photo/film.mp4", "user.albumfs.place", b"48.8600,2.3000")
            place, = eventually(lambda: [each for each in browser.get("/api/places")["places"] if each["photos"] == 2])
            assert place["name"] == "Paris, France" and place["videos"] == 1 and place["cover"], place
            assert sorted(browser.get(f"/api/photos?place={place['place']}")["name"]) == ["IMG_2.jpg", "film.mp4"]
            for wrong in ("0", "x", "-1", "70000"): refused(400, "invalid", browser.get, "/api/photos?place=" + wrong)
        """)
    }
  }

  @Test func whatThePageSaysOfAPhotoIsInItsAttributes() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            trip = browser.albums()["Trip"]
            def value(name, photo="IMG_1.jpg"):
                try: return os.getxattr(f"{point}/Trip/Photo/{photo}", "user.albumfs." + name).decode()
                except OSError: return None
            def change(**fields): return browser.post("/api/photo/" + browser.photo(trip, "IMG_1.jpg")["id"], fields)
            about = change(favourite=True, caption="In the garden", tags=["Blue hour", "Family"], rating=4,
                           taken="2019-06-05T12:33:10")
            assert about["favourite"] and about["rating"] == 4 and about["caption"] == "In the garden"
            assert about["tags"] == ["Blue hour", "Family"], about
            assert [value(name) for name in ("favourite", "caption", "tags", "rating", "taken")] == [
                "1", "In the garden", "Blue hour\\nFamily", "4", "2019-06-05T12:33:10"]
            eventually(lambda: browser.photo(trip, "IMG_1.jpg")["favourite"] == 1)
            eventually(lambda: browser.get("/api/photos?search=favourite%20june%20rating:4")["name"] == ["IMG_1.jpg"])
            # A value without a meaning changes nothing.
            for wrong in ({"rating": 6}, {"tags": [""]}, {"tags": ["a\\nb"]}, {"taken": "yesterday"},
                          {"caption": "x" * 40000}, {"rating": "4"}):
                refused(400, "invalid", change, **wrong)
            about = change(favourite=False, caption=None, tags=[], rating=None, taken=None)
            assert not about["favourite"] and about["caption"] is None and about["rating"] is None
            assert [value(name) for name in ("favourite", "caption", "tags", "rating")] == [None] * 4
            # A selection at once; what is gone meanwhile is left out, and so is what is no photo.
            ids = [photo["id"] for photo in browser.photos(trip)] + ["gone"]
            assert browser.post("/api/favourites", {"ids": ids, "on": True})["count"] == 5
            assert value("favourite", "IMG_10.jpg") == "1"
            eventually(lambda: browser.get("/api/photos?search=favourite")["count"] == 5)
            browser.post("/api/favourites", {"ids": ids, "on": False})
            eventually(lambda: browser.get("/api/photos?search=favourite")["count"] == 0)
        with Server(S, "--read-only") as server:
            browser = Browser(server, PASSWORD)
            photo = browser.photo(browser.albums()["Trip"], "IMG_1.jpg")
            refused(403, "readonly", browser.post, "/api/photo/" + photo["id"], {"favourite": True})
            refused(403, "readonly", browser.post, "/api/favourites", {"ids": [photo["id"]], "on": True})
        """)
    }
  }

  @Test func aSpaceIsKnownAgainAfterARestartAndAnAlbumHasItsOrder() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        def mark(password):
            with Server(S) as server: return Browser(server, password).get("/api/session")["space"]
        own = mark(PASSWORD)
        assert own and own == mark(PASSWORD) and own != mark(SECOND)
        with Server(S, "--read-only") as server:
            assert Browser(server, PASSWORD).get("/api/session")["space"] is None
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            trip = browser.albums()["Trip"]
            assert (trip["photos"], trip["videos"], trip["others"]) == (5, 1, 1), trip
            os.setxattr(point + "/Trip/Photo/IMG_2.jpg", "user.albumfs.taken", b"1999-12-31T12:00:00")
            def names(sort): return browser.get(f"/api/photos?album={trip['id']}&sort={sort}")["name"]
            assert names("name")[-2:] == ["IMG_10.jpg", "notes.txt"]
            eventually(lambda: names("oldest")[0] == "IMG_2.jpg" and names("newest")[-1] == "IMG_2.jpg")
            os.utime(point + "/Trip/Photo/IMG_10.jpg", (2**31 - 1, 2**31 - 1))
            eventually(lambda: names("added")[0] == "IMG_10.jpg")
            refused(400, "invalid", names, "size")
            counts = browser.get("/api/photos?view=all")
            assert (counts["count"], counts["videos"], counts["others"]) == (7, 1, 1), counts
        """)
    }
  }

  /// A page draws rows of photos, whose heights follow from their shapes.
  @Test func theFirstListingAfterALoginHasTheShapesOfAllPhotos() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        with Server(S, delays="details=300") as server:
            browser = Browser(server, PASSWORD)
            first = browser.get("/api/photos?view=all")
            shapes = dict(zip(first["name"], first["width"]))
            assert all(shapes[name] > 0 for name in shapes if name.endswith(".jpg")), shapes
        """)
    }
  }

  @Test func aPhotoWithoutAThumbnailHasItsShapeToo() throws {
    try GalleryStore.use { mounted in
      try mounted.write(Data(try TestPictures.jpeg(orientation: 6)), "standing.jpg")
      let apple = try TestPictures.make(TestPictures.pixels(width: 320, height: 480), as: "heic")
      try mounted.write(Data(apple), "apple.heic")
      try mounted.mount(["--thumbnailer", "/none"])
      try mounted.sh("mkdir $M/New; cp $W/standing.jpg $W/picture.jpg $W/apple.heic $M/New/Photo/")
      try GalleryStore.python(
        mounted,
        """
        with Server(S, delays="details=300") as server:
            browser = Browser(server, PASSWORD)
            new = browser.photos(browser.albums()["New"])
            assert [(each["name"], each["width"], each["height"]) for each in new] == [
                ("apple.heic", 320, 480), ("picture.jpg", 640, 400), ("standing.jpg", 640, 400)], new
            assert all(each["thumb"] == 0 for each in new), new
        """)
      try mounted.unmount()
    }
  }
}
