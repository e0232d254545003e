import AlbumTestSupport
import Foundation
import Testing

/// The gallery shows what is there twice, and loses nothing.
@Suite(.serialized, .timeLimit(.minutes(30))) struct DuplicateRouteTests {
  @Test func copiesInAllAlbumsAreFoundDeletedAndRestored() throws {
    try GalleryStore.use { mounted in
      try GalleryStore.python(
        mounted,
        """
        def search(browser):
            browser.post("/api/duplicates")
            return eventually(lambda: (found := browser.get("/api/duplicates"))["state"] == "done" and found)
        with Server(S, delays="undo=0.1") as server:
            browser = Browser(server, PASSWORD)
            point = next(iter(server.own_mounts))
            assert browser.get("/api/duplicates")["state"] == "none"
            found = search(browser)
            copies, = [each["photos"] for each in found["sets"]]
            assert sorted(copy["name"] for copy in copies) == [
                "IMG_1.jpg", "IMG_10.jpg", "IMG_2.jpg", "day.jpg", "direct.jpg"], copies
            assert [copy["same"] for copy in copies] == ["kept"] + ["bytes"] * 4, copies
            assert [copy["surplus"] for copy in copies] == [False] + [True] * 4, copies
            kept = copies[0]
            assert kept["ids"] == [kept["id"]] and kept["width"] == 640 and kept["path"][0] == "Trip", kept
            # What goes is in the list of deleted files, and comes back.
            job = browser.post("/api/jobs", {"kind": "delete", "ids": sum((c["ids"] for c in copies[2:]), [])})["job"]
            browser.wait(job)
            left, = [each["photos"] for each in browser.get("/api/duplicates")["sets"]]
            assert [copy["id"] for copy in left] == [copies[0]["id"], copies[1]["id"]], left
            # Without the one that was to stay, none is offered.
            browser.wait(browser.post("/api/jobs", {"kind": "delete", "ids": kept["ids"]})["job"])
            assert browser.get("/api/duplicates")["sets"] == []
            deleted = browser.get("/api/deleted")["files"]
            assert len(deleted) == 4, deleted
            browser.post("/api/deleted/restore", {"ids": [file["id"] for file in deleted]})
            again = eventually(lambda: (sets := search(browser)["sets"]) and len(sets[0]["photos"]) == 5 and sets)
            # A copy of which people say something stays, whatever is selected.
            os.setxattr(point + "/Trip/Day/Photo/day.jpg", "user.albumfs.caption", b"Noon")
            noted, = [each["photos"] for each in eventually(lambda: search(browser)["sets"])]
            assert noted[0]["name"] == "day.jpg" and noted[0]["same"] == "kept", noted
            os.setxattr(point + "/Trip/Photo/IMG_1.jpg", "user.albumfs.caption", b"Evening")
            noted, = [each["photos"] for each in search(browser)["sets"]]
            assert [copy["name"] for copy in noted if not copy["surplus"]][1:] in (["IMG_1.jpg"], ["day.jpg"]), noted
        with Server(S, "--read-only") as server:
            assert search(Browser(server, PASSWORD))["sets"]
            refused(401, "session", Browser(server).get, "/api/duplicates")
        """)
    }
  }
}
