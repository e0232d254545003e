import AlbumTestSupport
import Foundation
import Testing

/// What belongs together is one photo in the gallery: it is seen, counted, moved and removed as one.
@Suite(.serialized, .timeLimit(.minutes(30))) struct GroupTests {
  /// What a test of groups begins with: the album `Day` with a Live Photo and its sidecar, a raw picture with
  /// its JPEG, and a photo with its edited form.
  private static let day = """
    def put(album, *names):
        for name in names:
            picture = open(W + "/picture.jpg", "rb").read() + name.encode()
            content = picture if name.lower().endswith("jpg") else b"content of " + name.encode()
            with open(f"{point}/{album}/Photo/{name}", "wb") as file: file.write(content)
    def listed(album): return [photo["name"] for photo in browser.photos(browser.albums()[album])]
    def there(album): return sorted(os.listdir(f"{point}/{album}/Photo"))
    def ids(album, *names): return [browser.photo(browser.albums()[album], name)["id"] for name in names]
    LIVE = ["LIVE_1.JPG", "LIVE_1.MOV", "LIVE_1.JPG.xmp"]
    RAW, EDITED = ["RAW_1.DNG", "RAW_1.JPG"], ["WALK.jpg", "WALK-edited.jpg"]
    TILES = ["ALONE.MOV", "LIVE_1.JPG", "RAW_1.DNG", "WALK.jpg"]
    browser = Browser(server, PASSWORD)
    point = next(iter(server.own_mounts))
    trip = browser.albums()["Trip"]
    os.mkdir(point + "/Group")
    put("Group", *LIVE, *RAW, *EDITED, "ALONE.MOV")
    eventually(lambda: "Group" in browser.albums() and len(listed("Group")) == 4)

    """

  private func onADay(_ program: String) throws {
    try GalleryStore.use { mounted in
      let lines = (GroupTests.day + program).split(
        separator: "\n", omittingEmptySubsequences: false)
      try GalleryStore.python(
        mounted,
        "with Server(S, delays=\"undo=600\") as server:\n"
          + lines.map { "    " + $0 }.joined(separator: "\n"))
    }
  }

  @Test func oneTileStandsForAPhotoAndWhatBelongsToIt() throws {
    try onADay(
      """
      assert listed("Group") == TILES
      signs = {photo["name"]: photo["group"] for photo in browser.photos(browser.albums()["Group"])}
      assert signs == {"ALONE.MOV": 0, "LIVE_1.JPG": 3, "RAW_1.DNG": 5, "WALK.jpg": 9}, signs
      group = browser.albums()["Group"]
      assert (group["photos"], group["videos"], group["others"]) == (4, 1, 0), group
      for view in ("all", "date", "recent"):
          assert sorted(photo["name"] for photo in browser.photos(view=view) if photo["album"] == group["id"]) == TILES
      # A search looks through all files of a group, and finds it once.
      def found(text): return sorted(browser.get("/api/photos?search=" + urllib.parse.quote("album:group " + text))["name"])
      assert found("type:live") == ["LIVE_1.JPG"] and found("type:video") == ["ALONE.MOV"]
      assert found("name:xmp") == ["LIVE_1.JPG"] and found("edited") == ["WALK.jpg"]
      assert found("type:raw") == ["RAW_1.DNG"] and found("-type:raw") == ["ALONE.MOV", "LIVE_1.JPG", "WALK.jpg"]
      assert found("-type:live -edited") == ["ALONE.MOV", "RAW_1.DNG"]
      # What is behind a tile.
      files = browser.get("/api/photo/" + ids("Group", "LIVE_1.JPG")[0])["files"]
      assert [(file["name"], file["part"]) for file in files] == [
          ("LIVE_1.JPG", "photo"), ("LIVE_1.MOV", "film"), ("LIVE_1.JPG.xmp", "sidecar")], files
      assert browser.get("/api/original/" + files[1]["id"]) == b"content of LIVE_1.MOV"
      # A raw picture that nothing decodes is shown by its JPEG.
      raw = eventually(lambda: next((photo for photo in browser.photos(browser.albums()["Group"])
                                     if photo["name"] == "RAW_1.DNG" and photo["thumb"] > 0), None))
      jpeg = browser.get("/api/photo/" + raw["id"])["files"][1]["id"]
      for path in ("/api/thumb/", "/api/preview/"):
          end = "?edge=256" if "preview" in path else ""
          assert browser.get(path + raw["id"] + end) == browser.get(path + jpeg + end)
      assert browser.get("/api/thumbs?ids=" + raw["id"])[4:] == browser.get("/api/thumb/" + jpeg)
      alone = browser.get("/api/photo/" + ids("Group", "ALONE.MOV")[0])["files"]
      assert [file["name"] for file in alone] == ["ALONE.MOV"]
      """)
  }

  @Test func aGroupIsMovedCopiedDownloadedAndDeletedAsOne() throws {
    try onADay(
      """
      def job(kind, names, album=None, **more):
          order = {"kind": kind, "ids": ids("Group", *names), **more}
          if album: order["album"] = browser.albums()[album]["id"]
          return browser.post("/api/jobs", order)["job"]
      # The names of a group are numbered together where one of them is taken.
      put("Empty", "LIVE_1.MOV")
      browser.wait(job("copy", ["LIVE_1.JPG", "WALK.jpg"], "Empty"))
      assert there("Empty") == sorted(["LIVE_1.MOV", "LIVE_1 (2).JPG", "LIVE_1 (2).MOV", "LIVE_1 (2).JPG.xmp", *EDITED])
      assert listed("Empty") == ["LIVE_1 (2).JPG", "LIVE_1.MOV", "WALK.jpg"], listed("Empty")
      moved = browser.wait(job("move", ["LIVE_1.JPG"], "Trip"))
      assert moved["total"] == moved["done"] == 1 and moved["errors"] == []
      assert set(LIVE) <= set(there("Trip")) and not set(LIVE) & set(there("Group"))
      assert "LIVE_1.MOV" not in listed("Trip")
      # A download of one group is a zip file with all of it.
      order = browser.post("/api/downloads", {"ids": ids("Group", "RAW_1.DNG")})["download"]
      with zipfile.ZipFile(io.BytesIO(browser.get("/api/downloads/" + order))) as zip: assert zip.namelist() == RAW
      order = browser.post("/api/downloads", {"ids": ids("Group", "RAW_1.DNG"), "alone": True})["download"]
      assert browser.get("/api/downloads/" + order) == b"content of RAW_1.DNG"
      # Out of sight together, back together after an undo, and gone together.
      pending = job("delete", ["WALK.jpg", "RAW_1.DNG"])
      assert pending["total"] == 2 and listed("Group") == ["ALONE.MOV"] and browser.albums()["Group"]["photos"] == 1
      browser.post(f"/api/jobs/{pending['id']}/cancel")
      assert listed("Group") == ["ALONE.MOV", "RAW_1.DNG", "WALK.jpg"]
      pending = job("delete", ["WALK.jpg"])
      browser.post(f"/api/jobs/{pending['id']}/now")
      browser.wait(pending)
      assert there("Group") == ["ALONE.MOV", *RAW]
      # One file of a group alone; the others stay, and one of them shows them.
      pending = job("delete", ["RAW_1.DNG"], alone=True)
      browser.post(f"/api/jobs/{pending['id']}/now")
      browser.wait(pending)
      assert there("Group") == ["ALONE.MOV", "RAW_1.JPG"] and listed("Group") == ["ALONE.MOV", "RAW_1.JPG"]
      """)
  }

  @Test func notesNamesAndTheReturnOfAPhotoAreThoseOfItsFilesToo() throws {
    try onADay(
      """
      def value(name, attribute):
          try: return os.getxattr(f"{point}/Group/Photo/{name}", "user.albumfs." + attribute).decode()
          except OSError: return None
      # What went together comes back together.
      pending = browser.post("/api/jobs", {"kind": "delete", "ids": ids("Group", "LIVE_1.JPG", "RAW_1.DNG")})["job"]
      browser.post(f"/api/jobs/{pending['id']}/now")
      browser.wait(pending)
      os.remove(point + "/Group/Photo/WALK-edited.jpg")
      files = {file["path"][-1]: file for file in browser.get("/api/deleted")["files"]}
      assert sorted(files) == ["LIVE_1.JPG", "RAW_1.DNG", "WALK-edited.jpg"], files
      assert [len(files[name]["ids"]) for name in sorted(files)] == [3, 2, 1]
      assert files["RAW_1.DNG"]["size"] > os.path.getsize(W + "/picture.jpg")
      again = files["LIVE_1.JPG"]["ids"] + files["WALK-edited.jpg"]["ids"]
      assert browser.post("/api/deleted/restore", {"ids": again}) == {"count": 4, "renamed": 0}
      assert set(LIVE + EDITED) <= set(there("Group"))
      def signs(): return {photo["name"]: photo["group"] for photo in browser.photos(browser.albums()["Group"])}
      eventually(lambda: signs() == {"ALONE.MOV": 0, "LIVE_1.JPG": 3, "WALK.jpg": 9})
      live = ids("Group", "LIVE_1.JPG")
      assert browser.post("/api/favourites", {"ids": live + ids("Group", "WALK.jpg"), "on": True}) == {"count": 2}
      assert [value(name, "favourite") for name in LIVE + EDITED] == ["1", "1", None, "1", "1"]
      browser.post("/api/photo/" + live[0], {"caption": "At the lake", "rating": 5, "taken": "2019-06-05T12:33:10"})
      assert [value("LIVE_1.MOV", name) for name in ("caption", "rating", "taken")] == [
          "At the lake", "5", "2019-06-05T12:33:10"]
      browser.post("/api/favourites", {"ids": live, "on": False})
      assert [value(name, "favourite") for name in LIVE] == [None] * 3
      # A new name is one for all of them, or for none.
      assert browser.post("/api/photo/" + live[0], {"name": "lake.JPG"})["name"] == "lake.JPG"
      assert {"lake.JPG", "lake.MOV", "lake.JPG.xmp"} <= set(there("Group")) and "LIVE_1.MOV" not in there("Group")
      put("Group", "sea.MOV")
      refused(409, "exists", browser.post, "/api/photo/" + live[0], {"name": "sea.JPG"})
      assert {"lake.JPG", "lake.MOV", "lake.JPG.xmp", "sea.MOV"} <= set(there("Group"))
      """)
  }

  /// Phones with Android put the film into the photo. Cameras count anew: a film may have the number of a photo
  /// that it has nothing to do with, and stays when that photo goes.
  @Test func theFilmOfTheMomentPlaysAndOneOfAnotherMomentStands() throws {
    let own = "8E3A1B0C-55D2-4C1F-9A77-0123456789AB"
    let other = "11111111-55D2-4C1F-9A77-0123456789AB"
    let film = ExifSamples.film(stated: "2024-07-04T01:34:56+1300")
    let xmp = ExifSamples.xmp("GCamera:MicroVideoOffset=\"\(film.count)\"")
    try GalleryStore.use { mounted in
      try mounted.write(Data(ExifSamples.jpeg(xmp: xmp) + film), "motion.jpg")
      try mounted.write(Data(film), "film.mp4")
      try mounted.write(Data(ExifSamples.livePhoto(identifier: own)), "live.jpg")
      for (name, identifier) in [("own", own), ("other", other)] {
        let film = ExifSamples.liveFilm(identifier: identifier, created: 3_661_000_000)
        try mounted.write(Data(film), name + ".mov")
      }
      try GalleryStore.python(
        mounted,
        """
        import shutil
        with Server(S, delays="undo=600") as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            def put(album, *files):
                for source, name in files: shutil.copy(f"{W}/{source}", f"{point}/{album}/Photo/{name}")
            def photos(album): return {photo["name"]: photo for photo in browser.photos(browser.albums()[album])}
            put("Empty", ("motion.jpg", "PXL_20230501_120000.MP.jpg"), ("motion.jpg", "20230501_120000.jpg"),
                ("picture.jpg", "A.JPG"), ("film.mp4", "A.MP4"), ("picture.jpg", "B.JPG"))
            os.mkdir(point + "/Other")
            put("Other", ("live.jpg", "A.JPG"), ("own.mov", "A.MOV"), ("live.jpg", "B.JPG"), ("other.mov", "B.MOV"))
            film = open(W + "/film.mp4", "rb").read()
            eventually(lambda: photos("Empty").get("PXL_20230501_120000.MP.jpg", {}).get("group") == 2)
            assert sorted(photos("Empty")) == ["20230501_120000.jpg", "A.JPG", "B.JPG", "PXL_20230501_120000.MP.jpg"]
            for name, photo in photos("Empty").items():
                isLive, path = name != "B.JPG", "/api/live/" + photo["id"]
                assert browser.get("/api/photo/" + photo["id"])["live"] == isLive, name
                # A browser's <video> element sends no header of the page.
                if not isLive: refused(404, "unknown", browser.get, path)
                else:
                    status, headers, content = browser.send("GET", path, drop=("X-Albumfs",))
                    assert (status, headers["content-type"], content) == (200, "video/mp4", film), (name, status, headers)
                    status, headers, content = browser.send("GET", path, headers={"Range": "bytes=4-11"})
                    assert (status, content) == (206, film[4:12]) and headers["content-range"] == f"bytes 4-11/{len(film)}"
            found = browser.get("/api/photos?search=type:live%20album:empty")["name"]
            assert sorted(found) == ["A.JPG", "PXL_20230501_120000.MP.jpg"], found
            eventually(lambda: sorted(photos("Other")) == ["A.JPG", "B.JPG", "B.MOV"])
            assert browser.albums()["Other"]["photos"] == 3
            # Also where a person is faster than the server, which has not looked into the files yet.
            put("Other", ("live.jpg", "C.JPG"), ("other.mov", "C.MOV"))
            eventually(lambda: "C.JPG" in photos("Other"))
            ids = [photos("Other")[name]["id"] for name in ("A.JPG", "B.JPG", "C.JPG")]
            job = browser.post("/api/jobs", {"kind": "delete", "ids": ids})["job"]
            browser.post(f"/api/jobs/{job['id']}/now")
            browser.wait(job)
            there = sorted(os.listdir(point + "/Other/Photo"))
            assert there == ["B.MOV", "C.MOV"], there
        """)
    }
  }
}
