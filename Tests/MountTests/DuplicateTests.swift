import AlbumTestSupport
import Foundation
import Testing

/// `albumfs duplicates` finds what a space has more than once.
@Suite(.serialized) struct DuplicateTests {
  /// `large.jpg` of a camera and a day, smaller copies of it as other programs save them, and another picture.
  private static let pictures = Result { try makePictures() }

  private static func makePictures() throws -> [String: Data] {
    let scene = try TestPictures.encode(waves(width: 480, height: 320), as: "jpg[Q=92]")
    let large = try TestPictures.tag(
      scene, "jpg", "-DateTimeOriginal=2019:06:05 12:33:10", "-Make=NIKON CORPORATION",
      "-Model=NIKON D850")
    let small = try TestPictures.encode(waves(width: 240, height: 160), as: "jpg[Q=60]")
    let other = try TestPictures.encode(TestPictures.pixels(), as: "jpg[Q=90]")
    return [
      "large.jpg": Data(large), "small.jpg": Data(small), "other.jpg": Data(other),
      "saved.png": Data(try TestPictures.encode(waves(width: 300, height: 200), as: "png")),
    ]
  }

  /// A picture that has content everywhere, in any size.
  private static func waves(width: Int, height: Int) -> Data {
    func wave(_ count: Int, _ turns: Double) -> [Int] {
      (0..<count).map { Int(sin(Double($0) / Double(count) * turns) * 40) }
    }
    let (across, down) = (wave(width, 17), wave(height, 13))
    let (slow, steep) = (wave(width, 5), wave(height, 7))
    var bytes = [UInt8]("P6\n\(width) \(height)\n255\n".utf8)
    for row in 0..<height {
      for column in 0..<width {
        let level = UInt8(128 + across[column] + down[row] + slow[column] * steep[row] / 40)
        bytes.append(level)
        bytes.append(level)
        bytes.append(255 - level)
      }
    }
    return Data(bytes)
  }

  private func withPictures(_ body: (MountedStore) throws -> Void) throws {
    let pictures = try Self.pictures.get()
    try MountedStore.use { mounted in
      try mounted.write(pictures, into: "pictures")
      try mounted.sh(
        """
        mkdir $M/Trip $M/2019-06-05 $M/Sent; cd $W/pictures
        cp large.jpg other.jpg $M/Trip/Photo/; cp large.jpg $M/2019-06-05/Photo/IMG_1.jpg
        cp small.jpg saved.png $M/Sent/Photo/
        """)
      try mounted.sync()
      try body(mounted)
    }
  }

  @Test func equalFilesAndSmallerPicturesAreFoundInAllAlbums() throws {
    try withPictures { mounted in
      try mounted.sh(
        """
        albumfs duplicates $M --json > $W/found
        python3 - $W/found <<'END'
        import json, sys
        found = json.load(open(sys.argv[1]))
        assert found["version"] == 1 and found["unhashed"] == 0, found
        photos, = [each["photos"] for each in found["sets"]]
        assert [(photo["album"], photo["same"], photo.get("surplus", False)) for photo in photos] == [
            ("Trip", "kept", False), ("2019-06-05", "bytes", True), ("Sent", "picture", False),
            ("Sent", "picture", False)], photos
        assert (photos[0]["width"], photos[0]["height"]) == (480, 320) and photos[0]["path"].endswith("large.jpg")
        END
        albumfs duplicates $M > $W/lines 2> $W/said
        cut -f 1 $W/lines | tr '\\n' ,  | grep -qx 'keep,surplus,same picture,same picture,'
        grep -q 'Without 1 surplus copy nothing is lost' $W/said
        # The hash shows by its name, in no list, and nobody sets nonsense.
        getfattr -n user.albumfs.dhash --only-values $M/Trip/Photo/large.jpg | grep -qx '[0-9a-f]\\{32\\}'
        test -z "$(getfattr -d $M/Trip/Photo/large.jpg)"
        ! setfattr -n user.albumfs.dhash -v 12 $M/Trip/Photo/large.jpg 2> /dev/null
        """)
    }
  }

  @Test func whatIsRemovedAsSurplusCanComeBack() throws {
    try withPictures { mounted in
      try mounted.sh(
        """
        test "$(albumfs duplicates $M --surplus)" = $M/2019-06-05/Photo/IMG_1.jpg
        albumfs duplicates $M --surplus -0 | xargs -0 rm
        test -z "$(albumfs duplicates $M --surplus)"; test -e $M/Trip/Photo/large.jpg
        albumfs deleted list $M | grep -q IMG_1.jpg
        albumfs deleted restore $M --all
        test "$(albumfs duplicates $M --surplus)" = $M/2019-06-05/Photo/IMG_1.jpg
        # A file with names in several albums is one file.
        ln $M/Trip/Photo/other.jpg $M/Sent/Photo/best.jpg
        test "$(albumfs duplicates $M --json | grep -c best.jpg)" = 0
        # An album alone.
        albumfs duplicates $M/Trip 2>&1 | grep -qx 'Nothing is there twice.'
        albumfs snapshot create -q $M before
        if albumfs duplicates $M/.snapshots 2> $W/said; then exit 1; fi
        grep -q 'shows what the space had earlier' $W/said
        if albumfs duplicates $M/.snapshots/* --surplus; then exit 1; fi
        for wrong in "$W" "$M/Trip/Thumb" "$M -0" "$M --json --surplus"; do
          if albumfs duplicates $wrong > /dev/null 2>&1; then echo "$wrong" >&2; exit 1; fi
        done
        """)
    }
  }

  @Test func aPhotoThatWaitsForItsThumbnailIsComparedByItsBytes() throws {
    try withPictures { mounted in
      try mounted.remount(["--thumbnailer", "/none"])
      try mounted.sh(
        """
        cp $W/pictures/saved.png $M/Trip/Photo/new.png; cp $W/pictures/small.jpg $M/Trip/Photo/s.jpg
        albumfs duplicates $M > $W/lines 2> $W/said
        grep -q 'surplus.*new.png' $W/lines || grep -q 'surplus.*saved.png' $W/lines
        grep -q 'have no perceptual hash' $W/said
        """)
    }
  }
}
