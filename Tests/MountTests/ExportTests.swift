import AlbumTestSupport
import Foundation
import Testing

/// `export` copies originals out of the mounted space: completely, under their names, and only once.
@Suite(.serialized, .timeLimit(.minutes(30))) struct ExportTests {
  private struct Report: Decodable {
    struct Problem: Decodable { var path, reason: String }
    var exported, present: Int
    var complete: Bool
    var errors: [Problem]
  }

  private func report(_ mounted: MountedStore, _ command: String) throws -> (Int32, Report) {
    let outcome = try mounted.outcome(command)
    return (outcome.code, try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)))
  }

  /// An album with a photo, a loose file, a nested album, and a hidden folder.
  private let fill = """
    mkdir -p $M/Trip $M/Trip/Day; head -c 3000000 /dev/urandom > $M/Trip/Photo/large.jpg
    touch -d @1000000000 $M/Trip/Photo/large.jpg; echo loose > $M/Trip/loose.txt
    echo day > $M/Trip/Day/Photo/day.jpg; : > $M/Trip/Day/Photo/empty.jpg
    mkdir $M/.hidden; echo x > $M/.hidden/x
    """

  @Test(arguments: MountedStore.Person.allCases)
  func albumsBecomeFoldersAndASecondRunFindsThem(person: MountedStore.Person) throws {
    try MountedStore.use(as: person) { mounted in
      let told = try mounted.sh("\(fill)\nalbumfs export $M/Trip $W/out 2>&1")
      #expect(told.contains("NOT encrypted") && told.contains("Exported 4 files"), "\(told)")
      try mounted.sh(
        """
        test "$(cd $W/out; find . -type f | sort | tr '\\n' ' ')" \\
          = './Trip/Day/day.jpg ./Trip/Day/empty.jpg ./Trip/large.jpg ./Trip/loose.txt '
        cmp $M/Trip/Photo/large.jpg $W/out/Trip/large.jpg
        test "$(stat -c %Y $W/out/Trip/large.jpg)" = 1000000000
        rm $W/out/Trip/large.jpg; echo other > $W/out/Trip/Day/day.jpg
        """)
      // The next run copies what the interruption left out, and keeps files of others.
      let (code, again) = try report(mounted, "albumfs export --json $M $W/out")
      #expect(code == 0 && again.exported == 2 && again.present == 2 && again.complete)
      try mounted.sh(
        """
        test "$(cat $W/out/Trip/Day/day.jpg)" = other; test "$(cat "$W/out/Trip/Day/day (2).jpg")" = day
        test ! -e $W/out/x; test "$(ls $W/out)" = Trip
        """)
      for words in ["$M/Trip $M/Other", "$M/Trip/Thumb $W/out", "$M/none $W/out", "$M/Trip $S/out"]
      {
        #expect(try mounted.outcome("albumfs export \(words)").code == 1, "\(words)")
      }
    }
  }

  @Test func aZipFileHoldsTheSame() throws {
    try MountedStore.use { mounted in
      try mounted.sh("\(fill)\necho ä > $M/Trip/Photo/ä.jpg; mkdir $M/Trip2; ln -s /etc $M/out")
      // The export follows no link of the space.
      let told = try mounted.outcome("albumfs export $M --zip $W/all.zip")
      #expect(told.code == 51 && told.errors.contains("Exported 5 files"), "\(told)")
      #expect(told.errors.contains("symbolic link"), "\(told)")
      try mounted.python(
        """
        import zipfile
        with zipfile.ZipFile(W + "/all.zip") as archive:
            assert archive.testzip() is None
            assert sorted(archive.namelist()) == ["Trip/Day/day.jpg", "Trip/Day/empty.jpg",
                "Trip/large.jpg", "Trip/loose.txt", "Trip/ä.jpg"], archive.namelist()
            assert archive.read("Trip/large.jpg") == get(M + "/Trip/Photo/large.jpg")
            assert archive.getinfo("Trip/large.jpg").date_time == (2001, 9, 9, 1, 46, 40)
        assert [n for n in os.listdir(W) if "partial" in n] == []
        """)
      #expect(try mounted.outcome("albumfs export $M --zip $W/all.zip").code == 1)
    }
  }

  /// Two photos of one name lie in the album and in its Photo; one name of a group is taken at the target.
  @Test func whatBelongsToAPhotoGetsItsNumber() throws {
    try MountedStore.use { mounted in
      try mounted.sh(
        """
        mkdir $M/Trip; for f in HEIC MOV HEIC.xmp; do
          echo one $f > $M/Trip/Photo/IMG_1.$f; echo two $f > $M/Trip/IMG_1.$f
        done
        albumfs export -q $M/Trip --zip $W/all.zip
        mkdir -p $W/out/Trip; echo another > $W/out/Trip/IMG_1.MOV
        for run in 1 2; do albumfs export -q $M/Trip $W/out; done
        test "$(ls $W/out/Trip | wc -l)" = 7
        for n in 2 3; do
          test "$(cat "$W/out/Trip/IMG_1 ($n)".* | cut -d' ' -f1 | sort -u | wc -l)" = 1
          test "$(ls "$W/out/Trip/IMG_1 ($n)".* | wc -l)" = 3; test -s "$W/out/Trip/IMG_1 ($n).HEIC.xmp"
        done
        """)
      try mounted.python(
        """
        import zipfile
        with zipfile.ZipFile(W + "/all.zip") as archive:
            names = sorted(archive.namelist())
            assert names == ["Trip/IMG_1 (2).HEIC", "Trip/IMG_1 (2).HEIC.xmp", "Trip/IMG_1 (2).MOV",
                "Trip/IMG_1.HEIC", "Trip/IMG_1.HEIC.xmp", "Trip/IMG_1.MOV"], names
            words = {name: archive.read(name).split()[0] for name in names}
            assert len({words[n] for n in names if "(2)" in n}) == 1
        """)
    }
  }

  /// Every part of albumfs that asks what a file is takes these for the same picture.
  @Test func aHEICOfAnyMainBrandIsAPictureEverywhere() throws {
    try MountedStore.use { mounted in
      let brands = ["heic", "hevx", "MiHE", "MiHB", "mif2", "ABCD"]
      try mounted.sh("mkdir $M/A $W/source")
      let picture = try TestPictures.tag(
        TestPictures.make(TestPictures.pixels(), as: "heic"), "heic", "-Model=secret",
        "-DateTimeOriginal=2023:05:04 12:33:10")
      for brand in brands {
        var bytes = picture
        bytes.replaceSubrange(8..<12, with: brand.utf8)
        // Import takes files of equal content once.
        try mounted.write(Data(bytes), "source/\(brand).heic")
      }
      try mounted.sh("albumfs import -q $W/source $M/A")
      try mounted.sync()
      let names = brands.sorted().map { $0 + ".heic" }.joined(separator: "\n")
      #expect(try mounted.sh("LC_ALL=C ls $M/A/Thumb") == names)
      #expect(
        try mounted.sh("albumfs list-photos $M/A | cut -f1,2 | sort -u")
          == "2023-05-04T12:33:10\t640x400")
      let status = try mounted.sh("albumfs status $M")
      #expect(status.contains("\(brands.count) photos") && !status.contains("video"), "\(status)")
      try mounted.sh("albumfs export -q --without-metadata $M/A $W/out")
      #expect(try mounted.sh("LC_ALL=C ls $W/out/A") == names)
      #expect(try mounted.sh("! grep -l secret $W/out/A/*") == "")
    }
  }

  /// A picture with a place, a HEIC, and a text.
  private func fillWithPictures(_ mounted: MountedStore) throws {
    let jpeg = try TestPictures.jpeg(orientation: 6)
    let heic = try TestPictures.make(TestPictures.pixels(), as: "heic")
    let tagged = try TestPictures.tag(heic, "heic", "-GPSLatitude=48.1", "-Model=secret")
    for (name, bytes) in [("one.jpg", jpeg), ("two.heic", tagged), ("two.jpg", jpeg)] {
      let path = try mounted.write(Data(bytes), name)
      try mounted.sh("mkdir -p $M/Trip; cp '\(path)' $M/Trip/Photo/\(name)")
    }
    try mounted.sh("echo text > $M/Trip/notes.txt; touch -d @1000000000 $M/Trip/Photo/*")
  }

  @Test func scaledPicturesAreSmallUprightAndBare() throws {
    try MountedStore.use { mounted in
      try fillWithPictures(mounted)
      let (code, first) = try report(mounted, "albumfs export --json --size 320 $M/Trip $W/out")
      #expect(code == 51 && first.exported == 3 && first.complete)
      #expect(first.errors.count == 1 && first.errors[0].path.hasSuffix("notes.txt"), "\(first)")
      let names = try mounted.sh("ls $W/out/Trip")
      #expect(names.split(separator: "\n").sorted() == ["one.jpg", "two (2).jpg", "two.jpg"])
      for name in ["one.jpg", "two (2).jpg", "two.jpg"] {
        let picture = try mounted.read("out/Trip/\(name)")
        let pixels = try TestPictures.decode(picture)
        #expect(pixels.width == 320 && pixels.height == 200, "\(name): \(pixels)")
        let tags = try TestPictures.tags(of: picture)
        #expect(!tags.contains { ["IFD0", "GPS", "XMP", "IPTC"].contains(where: $0.hasPrefix) })
      }
      try mounted.sh("test $(stat -c %Y $W/out/Trip/one.jpg) = 1000000000")
      // The second run finds them.
      let (_, again) = try report(mounted, "albumfs export --json --size 320 $M/Trip $W/out")
      #expect(again.exported == 0 && again.present == 3)
      let zip = try mounted.outcome("albumfs export --size 320 $M/Trip --zip $W/small.zip")
      #expect(zip.code == 51 && zip.errors.contains("Exported 3 files"), "\(zip)")
      try mounted.python(
        """
        import zipfile
        with zipfile.ZipFile(W + "/small.zip") as archive:
            assert archive.testzip() is None
            assert archive.read("Trip/one.jpg") == get(W + "/out/Trip/one.jpg")
        """)
      for size in ["0", "63", "2049", "many"] {
        #expect(try mounted.outcome("albumfs export --size \(size) $M/Trip $W/none").code == 1)
      }
    }
  }

  @Test func originalsWithoutMetadataTellNoPlace() throws {
    try MountedStore.use { mounted in
      try fillWithPictures(mounted)
      try mounted.sh(
        "setfattr -n user.note -v secret $M/Trip/Photo/one.jpg; cp $M/Trip/Photo/one.jpg $W/")
      let told = try mounted.outcome("albumfs export --without-metadata $M/Trip $W/out")
      #expect(told.code == 51 && told.errors.contains("Exported 3 files"), "\(told)")
      #expect(told.errors.contains("notes.txt: metadata can be taken out of JPEG"), "\(told)")
      try mounted.sh("test \"$(ls $W/out/Trip | tr '\\n' ' ')\" = 'one.jpg two.heic two.jpg '")
      for name in ["one.jpg", "two.heic"] {
        let bare = try mounted.read("out/Trip/\(name)")
        let tags = try TestPictures.tags(of: bare)
        #expect(!tags.contains { ["GPS", "XMP", "IPTC"].contains(where: $0.hasPrefix) }, "\(tags)")
        #expect(!tags.contains("IFD0:Model"))
      }
      let (bare, whole) = (try mounted.read("out/Trip/one.jpg"), try mounted.read("one.jpg"))
      #expect(try TestPictures.decode(bare).bytes == TestPictures.decode(whole).bytes)
      #expect(try TestPictures.tags(of: bare).contains("IFD0:Orientation"))
      try mounted.sh("test \"$(getfattr -d $W/out/Trip/one.jpg 2>/dev/null)\" = ''")
      let (_, again) = try report(
        mounted, "albumfs export --json --without-metadata $M/Trip $W/out")
      #expect(again.exported == 0 && again.present == 3)
      let zip = try mounted.outcome("albumfs export --without-metadata $M/Trip --zip $W/bare.zip")
      #expect(zip.code == 51)
      try mounted.python(
        """
        import zipfile
        with zipfile.ZipFile(W + "/bare.zip") as archive:
            assert archive.testzip() is None
            assert archive.read("Trip/two.heic") == get(W + "/out/Trip/two.heic")
        """)
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, "needs root and a loop device"))
  func aFullTargetIsRefusedBeforeAnythingIsCopied() throws {
    let disk = try SmallDisk(.tmpfs, mebibytes: 2)
    defer { disk.remove() }
    try MountedStore.use { mounted in
      try mounted.sh(fill)
      for words in ["$M/Trip \(disk.path)", "$M/Trip --zip \(disk.path)/a.zip"] {
        let outcome = try mounted.outcome("albumfs export \(words)")
        #expect(outcome.code == 43 && outcome.errors.contains("Nothing was copied"), "\(outcome)")
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
    }
  }
}
