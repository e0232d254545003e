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
