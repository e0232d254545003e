import AlbumTestSupport
import Testing

/// When the disk of the store is full, nothing that was shown as saved is lost, and what was begun goes on as
/// soon as there is room.
@Suite(
  .serialized, .timeLimit(.minutes(30)),
  .enabled(if: SmallDisk.isPossible, "needs root and loop devices"))
struct FullDiskTests {
  @Test(arguments: [SmallDisk.Kind.ext4, .tmpfs])
  func whatWasSavedIsThereAndWhatWasBegunGoesOn(_ kind: SmallDisk.Kind) throws {
    let disk = try SmallDisk(kind)
    defer { disk.remove() }
    try GalleryStore.use(initOptions: ["--chaff", "0"], storeIn: disk.path) { mounted in
      try GalleryStore.python(
        mounted,
        """
        from localsend import *
        rng, saved, filler = random.Random(4), {}, os.path.dirname(S) + "/filler"
        # Made before the login: a page that is silent for a minute is closed.
        film = rng.randbytes(60_000_000)
        # It is there before the disk is full: a full one may have no room for its entry.
        open(filler, "wb").close()
        with Server(S) as server:
            browser, phone = Browser(server, PASSWORD), Phone(server)
            point = next(iter(server.own_mounts))
            empty = browser.albums()["Empty"]
            def shown(): return {photo["name"] for photo in browser.photos(browser.albums()["Empty"])}
            for number in range(3):
                saved[f"IMG_{number}.jpg"] = rng.randbytes(1_500_000)
                assert browser.upload(empty, f"IMG_{number}.jpg", saved[f"IMG_{number}.jpg"])["state"] == "saved"
            # The page uploads more than there is room for.
            refused(507, "room", browser.upload, empty, "film.mov", film)
            order = dict(album=empty["id"], folders=[], name="film.mov", size=len(film), modified=1_600_000_000)
            assert 0 < browser.post("/api/uploads", order)["offset"] < len(film)
            # A phone sends that much: it learns that the file was not saved, and nothing partial stays.
            browser.post(f"/api/uploads/{browser.post('/api/uploads', order)['upload']}/cancel")
            reception = browser.post("/api/receptions", {"album": empty["id"]})
            status, offer = phone.prepare({"a": described("phone.mov", film)}, reception["pin"])
            assert status == 200 and phone.upload(offer, "a", film) == 500
            eventually(lambda: not [name for name in os.listdir(point + "/Empty/Photo") if name.startswith(".")])
            # Another program takes the rest of the disk, in the middle of an upload.
            part = film[:12_000_000]
            order = dict(order, name="part.mov", size=len(part))
            id = browser.post("/api/uploads", order)["upload"]
            offset = browser.ask("PUT", f"/api/uploads/{id}?offset=0", part[:4_000_000])["offset"]
            with open(filler, "ab") as file:
                try:
                    while True: file.write(bytes(1 << 16)); file.flush()
                except OSError: pass
            try:
                browser.ask("PUT", f"/api/uploads/{id}?offset={offset}", part[offset:offset + 8_000_000])
                browser.post(f"/api/uploads/{id}/finish")
                raise AssertionError("a full disk has room")
            except Refused as error: assert (error.status, error.code) == (507, "room"), error
            # All that was saved can be seen and downloaded, by one and by all.
            assert shown() == set(saved)
            for photo in browser.photos(browser.albums()["Empty"]):
                assert browser.get("/api/original/" + photo["id"]) == saved[photo["name"]]
            choice = browser.post("/api/downloads", {"album": empty["id"]})["download"]
            found = zipfile.ZipFile(io.BytesIO(browser.get("/api/downloads/" + choice)))
            assert {name: found.read(name) for name in found.namelist()} == saved
            # With room, the upload goes on where it was.
            os.unlink(filler)
            eventually(lambda: browser.post("/api/uploads", order)["offset"] >= 4_000_000)
            assert browser.upload(empty, "part.mov", part)["state"] == "saved"
            saved["part.mov"] = part
        with Server(S) as server:
            browser = Browser(server, PASSWORD)
            for photo in browser.photos(browser.albums()["Empty"]):
                assert browser.get("/api/original/" + photo["id"]) == saved.pop(photo["name"])
            assert not saved, set(saved)
        """)
    }
  }
}
