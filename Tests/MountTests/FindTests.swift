import AlbumTestSupport
import Foundation
import Testing

/// `albumfs find` finds what a person remembers of a photo.
@Suite(.serialized) struct FindTests {
  /// `beach.jpg` is of a camera and a day, `plain.png` says nothing of itself; a film, a Live Photo, a raw
  /// picture without a thumbnail.
  private static let pictures = Result { try makePictures() }

  private static func makePictures() throws -> [String: Data] {
    let beach = try TestPictures.tag(
      TestPictures.jpeg(orientation: 1), "jpg", "-DateTimeOriginal=2019:06:05 12:33:10",
      "-Make=NIKON CORPORATION", "-Model=NIKON D850", "-LensModel=35mm f/1.8G")
    let bare = try TestPictures.encode(TestPictures.pixels(width: 300, height: 200), as: "png")
    return [
      "beach.jpg": Data(beach), "plain.png": Data(bare), "IMG_1.JPG": Data(beach + [1]),
      "IMG_1.MOV": Data("no film".utf8), "clip.mov": Data("none either".utf8),
      "raw.cr2": Data("no picture".utf8),
    ]
  }

  private static let helpers = """
    # The names that a search prints, in one line.
    finds() { albumfs find -q $M "$@" | while read -r path; do basename "$path"; done | xargs; }
    is() { test "$1" = "$2" || { echo "found $2 and not $1" >&2; return 1; }; }

    """

  private func withPictures(_ body: (MountedStore) throws -> Void) throws {
    let pictures = try Self.pictures.get()
    try MountedStore.use { mounted in
      try mounted.write(pictures, into: "pictures")
      try mounted.sh(
        """
        touch -d '2001-09-10 12:00' $W/pictures/*
        mkdir $M/Trip $M/Trip/Müritz $M/.hidden; cp -p $W/pictures/* $M/Trip/Photo/
        cp -p $W/pictures/plain.png $M/Trip/Müritz/Photo/lake.png; mkdir $M/Trip/Photo/inner
        cp -p $W/pictures/plain.png $M/Trip/Photo/inner/deep.png; echo text > $M/Trip/Photo/beach.txt
        cp -p $W/pictures/plain.png $M/.hidden/beach.png
        """)
      try mounted.sync()
      try body(mounted)
    }
  }

  @Test func wordsOfNamesAlbumsNotesCamerasAndDatesFindAPhoto() throws {
    try withPictures { mounted in
      try mounted.sh(
        Self.helpers + """
          cd $M/Trip/Photo
          is "beach.jpg" "$(finds beach)"
          is "lake.png" "$(finds muritz)"
          # What belongs to a photo comes with it, and is no result of its own.
          is "IMG_1.JPG IMG_1.MOV beach.jpg" "$(finds nikon)"
          is "beach.jpg" "$(finds d850 -IMG_1)"
          is "beach.jpg" "$(finds -live d850)"
          is "beach.jpg plain.png" "$(finds -video -- trip -raw -img -lake -deep)"
          is "beach.jpg" "$(finds d850 -- -IMG_1)"
          is "IMG_1.JPG IMG_1.MOV beach.jpg" "$(finds lens:35mm june 2019)"
          is "IMG_1.JPG IMG_1.MOV beach.jpg" "$(finds 'juni 2019')"
          is "deep.png" "$(finds trip deep)"
          is "IMG_1.JPG IMG_1.MOV" "$(finds live)"
          is "clip.mov" "$(finds video)"
          is "raw.cr2" "$(finds raw)"
          is "" "$(finds favourite)"
          setfattr -n user.albumfs.favourite -v 1 plain.png
          setfattr -n user.albumfs.caption -v 'Sunset with José' plain.png
          setfattr -n user.albumfs.tags -v "$(printf 'Blue hour\\nNorth Sea')" plain.png
          setfattr -n user.albumfs.rating -v 4 plain.png
          setfattr -n user.albumfs.camera -v 'Leica M3' plain.png
          for words in favourite 'jose sunset' '"blue hour"' tag:north rating:4 camera:leica; do
            is "plain.png" "$(finds "$words")"
          done
          is "" "$(finds '"hour north"')"
          """)
    }
  }

  @Test func anAlbumIsSearchedAloneAndPathsServePrograms() throws {
    try withPictures { mounted in
      try mounted.sh(
        """
        test "$(albumfs find $M/Trip/Müritz png)" = $M/Trip/Müritz/Photo/lake.png
        test "$(albumfs find $M/Trip/Photo/inner png)" = $M/Trip/Photo/inner/deep.png
        albumfs find $M beach -0 | xargs -0 cp -t $W
        diff $W/beach.jpg $W/pictures/beach.jpg
        albumfs find $M nikon beach --json > $W/found
        python3 - $W/found <<'END'
        import json, sys
        found = json.load(open(sys.argv[1]))
        photo, = found["photos"]
        assert found["version"] == 1 and photo["album"] == "Trip" and photo["path"].endswith("Trip/Photo/beach.jpg")
        assert photo["taken"] == "2019-06-05T12:33:10" and (photo["width"], photo["height"]) == (640, 400)
        assert photo["camera"] == "NIKON D850" and photo["lens"] == "35mm f/1.8G" and "tags" not in photo
        END
        albumfs find $M live --json | python3 -c '
        import json, sys
        photo, = json.load(sys.stdin)["photos"]
        assert photo["path"].endswith("/IMG_1.JPG"), photo
        other, = photo["others"]
        assert other.endswith("/IMG_1.MOV"), photo'
        test -z "$(albumfs find $M unknownword 2> $W/said)"; grep -q "Nothing is found" $W/said
        for wrong in "$W beach" "$M/Trip/Thumb beach" "$M --jsn beach" "$M -"; do
          if albumfs find $wrong 2> /dev/null; then echo "$wrong" >&2; exit 1; fi
        done
        """)
    }
  }

  @Test(
    .enabled(
      if: FileManager.default.fileExists(atPath: "/usr/share/libtimezonemap/ui/cities15000.txt"),
      "needs libtimezonemap-data"))
  func aPhotoIsFoundByTheTownNearWhichItWasTaken() throws {
    let tower = try TestPictures.tag(
      TestPictures.encode(TestPictures.pixels(), as: "jpg"), "jpg", "-GPSLatitude=48.8584",
      "-GPSLatitudeRef=N", "-GPSLongitude=2.2945", "-GPSLongitudeRef=E")
    try withPictures { mounted in
      try mounted.write(Data(tower), "tower.jpg")
      try mounted.sh("cp $W/tower.jpg $M/Trip/Photo/")
      try mounted.sync()
      try mounted.sh(
        Self.helpers + """
          setfattr -n user.albumfs.place -v 48.137154,11.576124 $M/Trip/Photo/plain.png
          is "tower.jpg" "$(finds paris)"; is "tower.jpg" "$(finds place:par)"; is "" "$(finds place:lyon)"
          is "plain.png" "$(finds münchen)"; is "plain.png" "$(finds munich)"; is "" "$(finds munich -germany)"
          is "plain.png tower.jpg" "$(finds place:germany) $(finds place:france)"
          albumfs find $M paris --json | grep -q '"near" : "Paris, France"'
          getfattr -n user.albumfs.place --only-values $M/Trip/Photo/tower.jpg | grep -q '^48.858400,2.294500$'
          test -z "$(getfattr -d $M/Trip/Photo/tower.jpg)"
          """)
      try mounted.remount(["--thumbnailer", "/none"])
      try mounted.sh(
        Self.helpers
          + "cp $W/tower.jpg $M/Trip/Photo/new.jpg; is 'new.jpg tower.jpg' \"$(finds paris)\"")
    }
  }

  @Test func aPhotoThatWaitsForItsThumbnailIsFoundByWhatItsContentSays() throws {
    try withPictures { mounted in
      try mounted.remount(["--thumbnailer", "/none"])
      try mounted.sh(
        Self.helpers + """
          cp $W/pictures/beach.jpg $M/Trip/Photo/new.jpg
          is "IMG_1.JPG IMG_1.MOV beach.jpg new.jpg" "$(finds nikon june)"
          """)
    }
  }
}
