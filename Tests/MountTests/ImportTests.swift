import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// Photos are imported into the mounted space and exported again, as a person does that at a terminal.
@Suite(.serialized, .timeLimit(.minutes(30))) struct ImportTests {
  private struct Report: Decodable {
    struct Problem: Decodable { var path, reason: String }
    var version, imported, duplicates, removed, hidden: Int
    var bytes: Int64
    var complete: Bool
    var errors: [Problem]
  }

  private func report(_ mounted: MountedStore, _ command: String) throws -> (Int32, Report) {
    let outcome = try mounted.outcome(command)
    let data = Data(outcome.output.utf8)
    return (outcome.code, try JSONDecoder().decode(Report.self, from: data))
  }

  @Test(arguments: MountedStore.Person.allCases)
  func aCameraIsEmptiedIntoAnAlbum(person: MountedStore.Person) throws {
    try MountedStore.use(as: person) { mounted in
      let picture = try TestPictures.jpeg(orientation: 1)
      try mounted.write(Data(picture), "card/DCIM/100CANON/IMG_1.JPG")
      try mounted.write(Data(ExifSamples.jpeg()), "card/DCIM/100CANON/IMG_2.JPG")
      try mounted.write(Data("other".utf8), "card/DCIM/101CANON/IMG_1.JPG")
      let told = try mounted.sh(
        """
        touch -d @1000000000 $W/card/DCIM/100CANON/IMG_1.JPG; chmod 640 $W/card/DCIM/100CANON/IMG_1.JPG
        setfattr -n user.rating -v 5 $W/card/DCIM/100CANON/IMG_1.JPG || true
        cp -rp $W/card $W/kept
        albumfs import $W/card/DCIM $M/Trip/Day/ 2>&1
        cmp $W/kept/DCIM/100CANON/IMG_1.JPG $M/Trip/Day/Photo/IMG_1.JPG
        test "$(cat "$M/Trip/Day/Photo/IMG_1 (2).JPG")" = other
        test "$(stat -c '%Y %a' $M/Trip/Day/Photo/IMG_1.JPG)" = '1000000000 640'
        albumfs sync $M; test -s $M/Trip/Day/Thumb/IMG_1.JPG; test "$(ls -A $M/Trip/Day | wc -l)" = 2
        """)
      #expect(told.contains("Imported 3 files") && told.contains("got another name"), "\(told)")
      let (code, again) = try report(
        mounted, "albumfs import --json --move $W/card/DCIM/ $M/Trip/Day/Photo")
      #expect(code == 0 && again.imported == 0 && again.duplicates == 3 && again.removed == 3)
      try mounted.sh(
        """
        test "$(find $W/card -type f | wc -l)" = 0; test -d $W/card/DCIM/100CANON
        albumfs import -q --by-date $W/kept $M; cmp $W/kept/DCIM/100CANON/IMG_2.JPG $M/2024-07-03/Photo/IMG_2.JPG
        cmp $W/kept/DCIM/100CANON/IMG_1.JPG $M/2001-09-09/Photo/IMG_1.JPG
        """)
    }
  }

  @Test func wrongFilesAreNamedAndTheOthersImported() throws {
    try MountedStore.use(as: .ordinary) { mounted in
      try mounted.sh(
        """
        mkdir $W/card; for i in a b c; do echo $i > $W/card/$i.jpg; done
        chmod 000 $W/card/b.jpg; ln -s a.jpg $W/card/link.jpg; mkfifo $W/card/pipe
        """)
      let (code, found) = try report(mounted, "albumfs import --json --move $W/card $M/Trip")
      #expect(code == 51 && found.imported == 2 && found.removed == 2 && found.complete)
      #expect(
        found.errors.map { ($0.path as NSString).lastPathComponent }.sorted()
          == ["b.jpg", "link.jpg", "pipe"])
      try mounted.sh("chmod 600 $W/card/b.jpg; test \"$(cat $W/card/b.jpg)\" = b")
      let codes = [
        ("$W/card $M/Trip/Photo/a.jpg", 1), ("$W/card $M/Trip/Thumb", 1), ("$W/card $M/.hidden", 1),
        ("$W/card $W/nowhere", 41),
        ("$W/card", 1), ("$M/Trip $M/Other", 51),
      ]
      for (words, code) in codes {
        #expect(try mounted.outcome("albumfs import \(words)").code == code, "\(words)")
      }
      // A read-only original cannot be removed, and stays in both places.
      let stays = try mounted.outcome(
        "chmod 500 $W/card; albumfs import --move $W/card/b.jpg $M/Trip; chmod 700 $W/card; exit 9")
      #expect(stays.errors.contains("cannot be removed"), "\(stays.errors)")
      try mounted.sh("test \"$(cat $W/card/b.jpg $M/Trip/Photo/b.jpg | sort -u)\" = b")
    }
  }

  /// Kills the import in the middle of a file, and once the daemon.
  @Test func aKillLosesNothingAndTheNextRunContinues() throws {
    try MountedStore.use { mounted in
      try mounted.sh(
        """
        mkdir $W/card; for i in 1 2 3 4 5 6 7 8; do head -c 8000000 /dev/urandom > $W/card/$i.jpg; done
        cp -r $W/card $W/kept
        """)
      try mounted.sh(
        """
        albumfs import -q --move $W/card $M/Trip & import=$!
        await 'ls -A $M/Trip/Photo | grep -q partial'
        kill -9 $import; wait $import || true
        for f in $(ls $M/Trip/Photo); do cmp $W/kept/$f $M/Trip/Photo/$f; done
        for f in $(ls $W/kept); do test -e $W/card/$f || cmp $W/kept/$f $M/Trip/Photo/$f; done
        cp -r $W/kept/. $W/card
        albumfs import -q --move $W/card $M/Trip
        diff -r $W/kept $M/Trip/Photo; test -z "$(ls -A $W/card)"
        cp -r $W/kept/. $W/card
        (code=0; albumfs import --move $W/card $M/Next 2> $W/told || code=$?; echo $code > $W/code) &
        await 'ls -A $M/Next/Photo | grep -q partial'
        """)
      let daemon = mounted.daemon
      mounted.forget()
      #expect(Glibc.kill(daemon, SIGKILL) == 0)
      // The unmount releases the processes that wait for the dead daemon.
      try mounted.sh(
        """
        albumfs umount -q $M || albumfs umount -q --lazy $M
        await test -s $W/code; test "$(cat $W/code)" != 0
        """)
      try mounted.mount()
      try mounted.sh(
        """
        for f in $(ls $W/kept); do test -e $W/card/$f || cmp $W/kept/$f $M/Next/Photo/$f; done
        albumfs import -q --move $W/card $M/Next; diff -r $W/kept $M/Next/Photo
        test "$(ls -A $W/card | wc -l)" = 0
        """)
    }
  }

  /// A user imports everything: the folder with the mount point, the store and a good photo.
  @Test func theSpaceAndItsStoreAreNoSources() throws {
    try MountedStore.use { mounted in
      let (code, found) = try report(
        mounted,
        """
        mkdir $W/card; echo good > $W/card/good.jpg; ln $W/card/good.jpg $W/card/link.jpg
        mkdir -p $M/Old; echo old > $M/Old/Photo/old.jpg
        albumfs import --json --move $W/card $(dirname $M) $S/segments $M/All
        """)
      #expect(code == 51 && found.complete)
      let reasons = Set(found.errors.map(\.reason))
      #expect(reasons.contains { $0.contains("store of albumfs") }, "\(reasons)")
      #expect(reasons.contains { $0.contains("space itself") }, "\(reasons)")
      // A hard link is a twin of another name, which only the card has.
      #expect(reasons.contains { $0.contains("as good.jpg") }, "\(reasons)")
      try mounted.sh(
        """
        test "$(cat $M/All/Photo/good.jpg)" = good; test ! -e $M/All/Photo/link.jpg
        test "$(ls -A $W/card)" = link.jpg; test -e $S/albumfs.conf; test "$(cat $M/Old/Photo/old.jpg)" = old
        test -z "$(find $M/All -name 'albumfs.conf' -o -name segments)"; albumfs sync $M
        """)
    }
  }

  /// A folder of a NAS: what it keeps for itself, what the person excludes, a film of Auckland, a chat.
  @Test func aFolderOfANASIsImportedAsAPersonWants() throws {
    try MountedStore.use { mounted in
      let film = ExifSamples.film(created: 2_082_844_800 + 1_720_036_800)
      try mounted.write(Data(film), "nas/Trip/MVI_2.MP4")
      let told = try mounted.sh(
        """
        cd $W/nas; mkdir -p @eaDir Trip/@eaDir/x.jpg Old; echo chat > Trip/IMG-20190505-WA0001.jpg
        echo thumb > @eaDir/a.jpg; echo thumb > Trip/@eaDir/x.jpg/t.jpg; echo > Trip/Thumbs.db; echo > Old/o.jpg
        cp -r $W/nas $M/copied; test ! -e $M/copied/@eaDir/Thumb; test -d $M/copied/Trip/Thumb
        albumfs import --exclude Old/ --by-date --time-zone Pacific/Auckland $W/nas $M 2>&1
        cmp Trip/MVI_2.MP4 $M/2024-07-04/Photo/MVI_2.MP4; test -s $M/2019-05-05/Photo/IMG-20190505-WA0001.jpg
        test "$(albumfs list-photos $M/2024-07-04 | cut -f1)" = 2024-07-03T20:00:00+00:00
        """)
      #expect(
        told.contains("left out 3 that other programs keep for themselves (@eaDir, Thumbs.db)"),
        "\(told)")
      #expect(told.contains("excluded 1") && told.contains("Imported 2 files"), "\(told)")
      for words in ["--time-zone Nowhere", "--exclude /"] {
        let outcome = try mounted.outcome("albumfs import --by-date \(words) $W/nas $M")
        #expect(outcome.code == 1, "\(outcome)")
      }
    }
  }

  /// Two zip parts of Google Takeout: the photo in one, its JSON in the other.
  @Test func aTakeoutBringsItsFactsIntoTheSpace() throws {
    try MountedStore.use { mounted in
      try mounted.python(
        """
        import json, zipfile
        facts = {"title": "a.jpg", "description": "Garden", "favorited": True,
            "photoTakenTime": {"timestamp": "1557058394"}, "geoData": {"latitude": 48.1, "longitude": 11.5}}
        with zipfile.ZipFile(W + "/takeout-001.zip", "w") as part:
            part.writestr("Takeout/Google Photos/Trip/a.jpg", b"a photo")
        with zipfile.ZipFile(W + "/takeout-002.zip", "w") as part:
            part.writestr("Takeout/Google Photos/Trip/a.jpg.supplemental-metadata.json", json.dumps(facts))
        """)
      try mounted.sh(
        """
        value() { getfattr --only-values -n user.albumfs.$1 $M/Trip/Photo/a.jpg; }
        albumfs import -q --without-json --time-zone Europe/Berlin $W/takeout-*.zip $M
        test "$(ls $M/Trip/Photo)" = a.jpg; test "$(value caption)" = Garden; test "$(value favourite)" = 1
        test "$(value taken)" = 2019-05-05T14:13:14+02:00; test "$(value place)" = 48.100000,11.500000
        test "$(stat -c %Y $M/Trip/Photo/a.jpg)" = 1557058394
        for bad in rating=6 favourite=yes place=91,0 'tags='; do
          if setfattr -n user.albumfs.${bad%=*} -v "${bad#*=}" $M/Trip/Photo/a.jpg 2> /dev/null; then exit 1; fi
        done
        setfattr -n user.albumfs.rating -v 5 $M/Trip/Photo/a.jpg; cp -a $M/Trip/Photo/a.jpg $W/b.jpg
        test "$(getfattr --only-values -n user.albumfs.rating $W/b.jpg)" = 5
        """)
    }
  }

  /// Latin-1, and two spellings of a name that Unicode treats as one.
  @Test func namesAreKeptByteForByte() throws {
    try MountedStore.use { mounted in
      try mounted.sh(
        #"""
        mkdir -p "$W/card/$(printf 'k\303\244se')" "$W/card/$(printf 'ka\314\210se')" "$W/card/$(printf 'k\344se')"
        for folder in $W/card $W/card/k*; do
          for name in 'b\351.jpg' 'e\314\201.jpg' '\303\251.jpg'; do
            path="$folder/$(printf "$name")"; echo "$path" > "$path"
          done
        done
        cp -r $W/card $W/kept; names() { (cd "$1"; find . -type f | sed 's,/Photo/,/,' | LC_ALL=C sort); }
        albumfs import -q --move $W/card $M/Trip
        echo more > "$(printf "$W/one\351.jpg")"; albumfs import -q "$(printf "$W/one\351.jpg")" $M/Other
        test "$(cat "$(printf "$M/Other/Photo/one\351.jpg")")" = more
        rm -r $M/Other; test -z "$(find $W/card -type f)"
        albumfs export -q $M $W/out; albumfs export -q $M --zip $W/all.zip
        for tree in $M/Trip $W/out/Trip; do
          names $tree | grep -av /Thumb/ > $W/found; names $W/kept > $W/wanted; cmp $W/found $W/wanted
        done
        diff -r $W/kept $W/out/Trip
        """#)
      try mounted.python(
        """
        import zipfile
        with zipfile.ZipFile(W + "/all.zip") as archive:
            found = sorted(i.filename.encode("utf-8" if i.flag_bits & 0x800 else "cp437")
                for i in archive.infolist())
            top = os.fsencode(W) + b"/kept"
            wanted = sorted(os.path.join(d, n).replace(top, b"Trip")
                for d, _, names in os.walk(top) for n in names)
            assert archive.testzip() is None and found == wanted, (found, wanted)
        """)
    }
  }

  @Test func aReadOnlySpaceTakesNothing() throws {
    try MountedStore.use(mountOptions: ["--read-only"]) { mounted in
      let outcome = try mounted.outcome(
        "mkdir $W/card; echo a > $W/card/a.jpg; albumfs import --move $W/card $M/Trip")
      #expect(outcome.code == 11 && outcome.errors.contains("read-only"), "\(outcome)")
      try mounted.sh("test -s $W/card/a.jpg")
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, "needs root and a loop device"))
  func aFullDiskKeepsTheOriginals() throws {
    let disk = try SmallDisk(.tmpfs, mebibytes: 24)
    defer { disk.remove() }
    try MountedStore.use(storeIn: disk.path) { mounted in
      let outcome = try mounted.outcome(
        """
        mkdir $W/card; for i in 1 2 3 4 5 6 7 8; do head -c 4000000 /dev/urandom > $W/card/$i.jpg; done
        cp -r $W/card $W/kept
        albumfs import --move $W/card $M/Trip
        """)
      #expect(outcome.code == 43, "\(outcome)")
      #expect(outcome.errors.contains("free. Importing what fits"), "\(outcome)")
      #expect(outcome.errors.contains("Make room and run it again"), "\(outcome)")
      try mounted.sh(
        """
        for f in $(ls $W/kept); do cmp $W/kept/$f $W/card/$f || cmp $W/kept/$f $M/Trip/Photo/$f; done
        test "$(ls $W/card | wc -l)" -gt 0; test "$(ls -A $M/Trip/Photo | grep -c partial)" = 0
        rm -r $M/Trip
        """)
    }
  }

  @Test func anInterruptedImportSaysSoAndContinues() throws {
    try MountedStore.use { mounted in
      let outcome = try mounted.outcome(
        """
        mkdir $W/card; for i in 1 2 3 4 5 6 7 8; do head -c 8000000 /dev/urandom > $W/card/$i.jpg; done
        albumfs import $W/card $M/Trip & import=$!
        await 'ls -A $M/Trip/Photo | grep -q partial'
        kill -TERM $import; wait $import
        """)
      #expect(outcome.code == 15 && outcome.errors.contains("again to continue"), "\(outcome)")
      try mounted.sh(
        """
        test "$(ls -A $M/Trip/Photo | grep -c partial)" = 0
        albumfs import -q $W/card $M/Trip; diff -r $W/card $M/Trip/Photo
        """)
    }
  }
}
