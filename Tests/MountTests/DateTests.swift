import AlbumTestSupport
import Foundation
import Testing

/// Dates, dimensions and rotation of photos, as getfattr, setfattr, rsync and ExifTool see them.
@Suite(.serialized) struct DateTests {
  private static let helpers = """
    value() { getfattr --only-values -n "user.albumfs.$1" "$2" 2>/dev/null; }
    is() { test "$(value "$1" "$2")" = "$3" || { echo "$1 of $2: $(value "$1" "$2")" >&2; return 1; }; }

    """

  /// `a.jpg` was taken lying with a time zone, `b.jpg` standing without one, and `c.png` has no date.
  private static let pictures = Result { try makePictures() }

  private static func makePictures() throws -> [String: Data] {
    let lying = try TestPictures.tag(
      TestPictures.jpeg(orientation: 1), "jpg", "-DateTimeOriginal=2023:05:04 12:33:10",
      "-OffsetTimeOriginal=+02:00")
    let standing = try TestPictures.tag(
      TestPictures.jpeg(orientation: 6), "jpg", "-DateTimeOriginal=2019:12:31 23:59:59")
    let bare = try TestPictures.encode(TestPictures.pixels(width: 300, height: 200), as: "png")
    return ["a.jpg": Data(lying), "b.jpg": Data(standing), "c.png": Data(bare)]
  }

  private func withPictures(_ body: (MountedStore) throws -> Void) throws {
    let pictures = try Self.pictures.get()
    try MountedStore.use { mounted in
      try mounted.write(pictures, into: "pictures")
      try mounted.sh("touch -d '2001-09-10 12:00' $W/pictures/c.png")
      try mounted.sh("mkdir $M/A; cp -p $W/pictures/* $M/A/Photo/")
      try mounted.sync()
      try body(mounted)
    }
  }

  @Test func aPhotoTellsItsDateAndItsUprightSize() throws {
    try withPictures { mounted in
      try mounted.sh(
        Self.helpers + """
          cd $M/A/Photo
          is taken a.jpg 2023-05-04T12:33:10+02:00; is dimensions a.jpg 640x400
          # This one is stored lying and shown standing for the camera: upright it is 640 wide.
          is taken b.jpg 2019-12-31T23:59:59; is dimensions b.jpg 640x400
          is taken c.png ''; is dimensions c.png 300x200
          # What the picture tells is in no list, so that a copy of its attributes settles.
          test -z "$(getfattr -d a.jpg)"
          rsync -aX $W/pictures/ $M/A/Photo/; albumfs sync $M; is dimensions a.jpg 640x400
          test -z "$(rsync -aXi $W/pictures/ $M/A/Photo/)"
          exiftool -q -overwrite_original -DateTimeOriginal='2020:02:29 10:00:00' -OffsetTimeOriginal= a.jpg
          albumfs sync $M; is taken a.jpg 2020-02-29T10:00:00
          vips crop b.jpg $W/small.jpg 0 0 100 50; cp $W/small.jpg b.jpg
          albumfs sync $M; is dimensions b.jpg \
          "$(vipsheader $M/A/Thumb/b.jpg | grep -o '[0-9]*x[0-9]*' | head -1)"
          diff c.png $W/pictures/c.png
          """)
      try mounted.remount()
      try mounted.sh(Self.helpers + "is taken $M/A/Photo/a.jpg 2020-02-29T10:00:00")
    }
  }

  @Test func aUserCorrectsADateAndACopyKeepsIt() throws {
    try withPictures { mounted in
      try mounted.sh(
        Self.helpers + """
          cd $M/A/Photo
          setfattr -n user.albumfs.taken -v 1999-12-31T12:00:00 c.png
          for bad in yesterday 1999-12-31 1999-02-30T10:00:00; do
            if setfattr -n user.albumfs.taken -v "$bad" c.png 2> /dev/null; then exit 1; fi
          done
          is taken c.png 1999-12-31T12:00:00
          mkdir $W/copy $M/B; rsync -aX $M/A/Photo/ $W/copy/; rsync -aX $W/copy/ $M/B/Photo/
          albumfs sync $M
          is taken $M/B/Photo/c.png 1999-12-31T12:00:00
          is taken $M/B/Photo/a.jpg 2023-05-04T12:33:10+02:00
          # What the picture itself tells follows its content also after such a copy.
          cp $W/pictures/b.jpg $M/B/Photo/a.jpg; albumfs sync $M
          is taken $M/B/Photo/a.jpg 2019-12-31T23:59:59
          test -z "$(rsync -aXi $M/A/Photo/c.png $M/B/Photo/)"
          setfattr -x user.albumfs.taken c.png; is taken c.png ''
          """)
    }
  }

  @Test func aTurnedPhotoKeepsItsContent() throws {
    try withPictures { mounted in
      try mounted.sh(
        Self.helpers + """
          cd $M/A
          setfattr -n user.albumfs.rotation -v 90 Photo/c.png
          if setfattr -n user.albumfs.rotation -v 45 Photo/c.png 2> /dev/null; then exit 1; fi
          albumfs sync $M
          is dimensions Photo/c.png 200x300; vipsheader Thumb/c.png | grep -q 200x300
          diff Photo/c.png $W/pictures/c.png
          """)
      // Upright: red, green over blue, white. A quarter clockwise: blue, red over white, green.
      let turned = try TestPictures.decode(mounted.bytes("$M/A/Thumb/c.png")).quarters
      let wanted = [
        TestPictures.blue, TestPictures.red, TestPictures.white, TestPictures.green,
      ]
      #expect(zip(turned, wanted).allSatisfy { Pixels.isClose($0, $1) }, "\(turned)")
      try mounted.remount()
      try mounted.sh(
        Self.helpers + """
          is dimensions $M/A/Photo/c.png 200x300
          setfattr -x user.albumfs.rotation $M/A/Photo/c.png; albumfs sync $M
          is dimensions $M/A/Photo/c.png 300x200
          """)
      #expect(try mounted.isUpright("$M/A/Thumb/c.png"))
    }
  }

  private struct Listing: Decodable {
    struct Photo: Decodable {
      var name: String
      var path: String
      var size: Int
      var taken: String?
      var width: Int?
      var height: Int?
    }
    var photos: [Photo]
  }

  @Test func aPhotoWithoutAThumbnailIsListedWithTheDateByWhichAnImportSortsIt() throws {
    let pictures = try Self.pictures.get()
    try MountedStore.use { mounted in
      try mounted.write(pictures, into: "pictures")
      try mounted.remount(["--thumbnailer", "/nowhere"])
      try mounted.sh("mkdir $M/A; albumfs import -q --by-date $W/pictures/a.jpg $M/A")
      #expect(
        try mounted.sh("albumfs list-photos $M/A/2023-05-04 | cut -f1,2")
          == "2023-05-04T12:33:10+02:00\t-")
    }
  }

  @Test func photosAreListedByDateAndStatusTellsWhatHasNoThumbnail() throws {
    try withPictures { mounted in
      try mounted.sh(
        """
        cd $M/A/Photo; echo text > note.txt; echo film > film.MOV; mkdir Day; mv a.jpg Day/
        mkdir -p "$(printf 'deep/%.0s' $(seq 200))"
        """)
      try mounted.sync()
      let lines = try mounted.sh("albumfs list-photos $M/A --by-date | cut -f1,2")
      #expect(
        lines == "-\t300x200\n2019-12-31T23:59:59\t640x400\n2023-05-04T12:33:10+02:00\t640x400")
      let json = try mounted.sh("albumfs list-photos $M/A/Photo --json")
      let listing = try JSONDecoder().decode(Listing.self, from: Data(json.utf8))
      #expect(listing.photos.map(\.name) == ["Day/a.jpg", "b.jpg", "c.png"])
      #expect(listing.photos[0].taken == "2023-05-04T12:33:10+02:00")
      #expect(listing.photos[2].taken == nil && listing.photos[2].width == 300)
      #expect(
        try mounted.sh("stat -c %s '\(listing.photos[1].path)'") == "\(listing.photos[1].size)")
      #expect(try mounted.outcome("albumfs list-photos $M").code == 1)
      let state = try mounted.sh("albumfs status --json $M")
      let status = try #require(
        try JSONSerialization.jsonObject(with: Data(state.utf8)) as? [String: Any])
      let thumbnails = try #require(status["thumbnails"] as? [String: Any])
      #expect(status["photos"] as? Int == 3 && status["otherFiles"] as? Int == 1)
      #expect(status["videos"] as? Int == 1, "by its name, because no decoder recognises it")
      #expect(thumbnails["made"] as? Int == 3 && thumbnails["unsupported"] as? Int == 2)
      #expect(thumbnails["failuresCut"] as? Bool == false)
    }
  }

  @Test func photosMoveIntoAlbumsByDateAndBack() throws {
    try withPictures { mounted in
      try mounted.sh(
        """
        cd $M; find A -type f | sort > $W/before
        albumfs tidy --by-date --dry-run A | grep -qx 'A/Photo/a.jpg -> A/2023-05-04/Photo/a.jpg'
        find A -type f | sort | diff $W/before -
        albumfs tidy --by-date A
        for path in 2023-05-04/Photo/a.jpg 2019-12-31/Photo/b.jpg 2001-09-10/Photo/c.png; do
          diff A/$path $W/pictures/${path##*/}; test -s A/${path/Photo/Thumb}
        done
        albumfs tidy --undo A; find A -type f | sort | diff $W/before -
        test "$(ls A)" = "$(printf 'Photo\\nThumb')"
        """)
    }
  }

  @Test func theTimesOfAThumbChangeWhenItsThumbnailsDo() throws {
    try withPictures { mounted in
      try mounted.python(
        """
        thumb = f"{M}/A/Thumb"
        def times(): status = os.stat(thumb); return status.st_mtime_ns, status.st_ctime_ns
        def are_later(before): return all(new > old for new, old in zip(times(), before))
        for action in (
            lambda: os.rename(f"{M}/A/Photo/a.jpg", f"{M}/A/Photo/d.jpg"),
            lambda: os.remove(f"{M}/A/Photo/d.jpg"),
            lambda: os.setxattr(f"{M}/A/Photo/b.jpg", "user.albumfs.rotation", b"180"),
        ):
            before = times()
            # CLOCK_REALTIME_COARSE, the clock of files, moves in steps.
            eventually(lambda: time.clock_gettime_ns(5) > max(before))
            action()
            eventually(are_later, before)
        # The photo and its thumbnail look equally old.
        os.utime(f"{M}/A/Photo/b.jpg")
        assert os.stat(f"{M}/A/Photo/b.jpg").st_mtime_ns == os.stat(f"{thumb}/b.jpg").st_mtime_ns
        subprocess.run(["albumfs", "sync", "-q", M], check=True)
        before = times()
        with open(f"{W}/before", "w") as file: file.write(repr(before))
        """)
      try mounted.remount()
      try mounted.python(
        """
        status = os.stat(f"{M}/A/Thumb")
        assert repr((status.st_mtime_ns, status.st_ctime_ns)) == open(f"{W}/before").read()
        """)
    }
  }
}
