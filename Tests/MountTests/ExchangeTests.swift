import AlbumTestSupport
import Foundation
import Testing

/// Two names are exchanged in one step (`mv --exchange`, RENAME_EXCHANGE): thumbnails follow their photos, and
/// what may not move stays on both sides.
@Suite(.serialized, .timeLimit(.minutes(30))) struct ExchangeTests {
  /// Runs a Python program in a mount with the albums `A` and `B`: photos `one.png` and `two.png` of other shapes,
  /// each with its thumbnail, and `sync`.
  private func inAlbums(_ program: String) throws {
    try MountedStore.use { mounted in
      let vips = "/usr/bin/env vips"
      try mounted.sh(
        """
        \(vips) black $W/one.png 300 200 --bands 3; \(vips) black $W/two.png 200 300 --bands 3
        mkdir $M/A $M/B; cp $W/one.png $M/A/Photo/; cp $W/two.png $M/B/Photo/; albumfs sync -q $M
        """)
      let prelude = """
        A, B = M + "/A", M + "/B"
        def sync(): subprocess.run(["albumfs", "sync", "-q", "--timeout", "600", M], check=True)
        def shape(path):
            return [int(subprocess.check_output(["vipsheader", "-f", side, path])) for side in ("width", "height")]
        def exchange(old, new): renameat2(old, new, RENAME_EXCHANGE)
        one, two = get(W + "/one.png"), get(W + "/two.png")
        wide, tall = shape(A + "/Thumb/one.png"), shape(B + "/Thumb/two.png")
        assert wide[0] > wide[1] and tall[0] < tall[1], (wide, tall)

        """
      try mounted.python(prelude + program)
    }
  }

  @Test func thumbnailsFollowPhotosThatChangePlaces() throws {
    try inAlbums(
      """
      exchange(A + "/Photo/one.png", B + "/Photo/two.png"); sync()
      assert get(A + "/Photo/one.png") == two and get(B + "/Photo/two.png") == one
      assert shape(A + "/Thumb/one.png") == tall and shape(B + "/Thumb/two.png") == wide
      # A photo and a file that is none, right in an album and outside of albums.
      put(A + "/notes.txt"); put(M + "/.plain")
      for other in A + "/notes.txt", M + "/.plain":
          exchange(A + "/Photo/one.png", other); sync()
          assert get(other) == two and get(A + "/Photo/one.png") == b"content"
          names = os.listdir(A + "/Thumb")
          assert names == (["notes.txt"] if other[-1] == "t" else []), names
          exchange(A + "/Photo/one.png", other); sync()
          assert get(A + "/Photo/one.png") == two and shape(A + "/Thumb/one.png") == tall
      """)
  }

  @Test func foldersChangePlacesWithTheirThumbnailsAndAlbumsWithAlbums() throws {
    try inAlbums(
      """
      os.mkdir(A + "/Photo/day"); os.rename(A + "/Photo/one.png", A + "/Photo/day/one.png"); sync()
      os.mkdir(B + "/Photo/night"); os.rename(B + "/Photo/two.png", B + "/Photo/night/two.png"); sync()
      exchange(A + "/Photo/day", B + "/Photo/night"); sync()
      assert shape(A + "/Thumb/day/two.png") == tall and shape(B + "/Thumb/night/one.png") == wide
      assert os.listdir(A + "/Photo/day") == ["two.png"] and os.listdir(B + "/Thumb/night") == ["one.png"]
      exchange(A, B); sync()
      assert get(B + "/Photo/day/two.png") == two and shape(A + "/Thumb/night/one.png") == wide
      """)
  }

  @Test func partsOfAnAlbumStayAndPlainFoldersBecomeNoAlbums() throws {
    try inAlbums(
      """
      os.mkdir(M + "/.plain"); put(M + "/.plain/file")
      for part in A + "/Photo", A + "/Thumb":
          for other in B + "/Photo", B + "/Thumb", B, M + "/.plain", M + "/.plain/file":
              fails(errno.EBUSY, exchange, part, other); fails(errno.EBUSY, exchange, other, part)
      fails(errno.EINVAL, exchange, A, A + "/Photo/one.png")
      os.mkdir(M + "/.plain/inner")
      fails(errno.EXDEV, exchange, M + "/.plain/inner", A)
      fails(errno.ENOENT, exchange, A, M + "/missing")
      fails(errno.ENOENT, exchange, A + "/Photo/missing", B + "/Photo/two.png")
      assert get(A + "/Photo/one.png") == one and shape(B + "/Thumb/two.png") == tall
      assert os.listdir(M + "/.plain/inner") == [] and get(M + "/.plain/file") == b"content"
      """)
  }

  /// What the user put there is the user's own, and so is a thumbnail that they moved.
  @Test func aThumbnailThatIsExchangedIsTheUsers() throws {
    try inAlbums(
      """
      put(B + "/Thumb/mine.txt", b"mine")
      exchange(A + "/Thumb/one.png", B + "/Thumb/mine.txt")
      assert shape(B + "/Thumb/mine.txt") == wide and get(A + "/Thumb/one.png") == b"mine"
      os.remove(A + "/Photo/one.png"); sync()
      assert shape(B + "/Thumb/mine.txt") == wide and get(A + "/Thumb/one.png") == b"mine"
      exchange(B + "/Thumb/two.png", B + "/Thumb/mine.txt")
      assert shape(B + "/Thumb/mine.txt") == tall and shape(B + "/Thumb/two.png") == wide
      """)
  }
}
