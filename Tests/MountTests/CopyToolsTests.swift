import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// The tools with which people copy pictures, as root and as an ordinary user, and where the driver cannot
/// see the caller's system call (`--no-syscall-inspection`, as under Yama).
@Suite(.serialized) struct CopyToolsTests {
  /// A way to mount a space, and the user who does it.
  struct Way: CustomTestStringConvertible, Sendable {
    var person: MountedStore.Person
    var seesCalls: Bool

    var options: [String] { seesCalls ? [] : ["--no-syscall-inspection"] }
    var testDescription: String {
      (person == .tester ? "as the tester" : "as an ordinary user")
        + (seesCalls ? "" : ", calls unseen")
    }
    static let all = MountedStore.Person.allCases.flatMap { person in
      [true, false].map { Way(person: person, seesCalls: $0) }
    }
  }

  private func using(_ way: Way, _ body: (MountedStore) throws -> Void) throws {
    try MountedStore.use(as: way.person, mountOptions: way.options) { mounted in
      try mounted.makePictures()
      try body(mounted)
    }
  }

  /// Expects every photo of `$W/pictures` in a folder of the mount, and its thumbnail in its place.
  private func expectPictures(_ mounted: MountedStore, in folder: String, thumbs: String) throws {
    try mounted.sync()
    try mounted.sh(
      "for photo in $W/pictures/*; do cmp \"$photo\" \(folder)/\"${photo##*/}\"; done")
    #expect(try mounted.sh("ls \(thumbs)") == mounted.sh("ls $W/pictures"))
    // The same photos have the same thumbnails.
    if try mounted.outcome("test -e $W/upright").code == 0 {
      try mounted.sh("diff -r $W/upright \(thumbs)")
      return
    }
    for name in try PictureSet.shared.get().some.keys {
      #expect(try mounted.isUpright("\(thumbs)/\(name)"), "\(thumbs)/\(name)")
    }
    try mounted.sh("cp -r \(thumbs) $W/upright")
  }

  @Test(arguments: Way.all) func aFolderOfPicturesCanBeCopiedInByAnyTool(_ way: Way) throws {
    try using(way) { mounted in
      let tools = [
        "cp": "cp -r $W/pictures $M/",
        "cp -a": "cp -a $W/pictures $M/",
        "copytree":
          "/usr/bin/python3 -c 'import shutil, sys; shutil.copytree(*sys.argv[1:])' $W/pictures $M/pictures",
        "rsync": "rsync -a $W/pictures $M/",
        "tar": "tar -C $W -cf - pictures | tar -C $M -xf -",
        "gio": "mkdir $M/pictures; gio copy $W/pictures/* $M/pictures/",
        "mv": "cp -a $W/pictures $W/there; mv $W/there $M/pictures; test ! -e $W/there",
        "dd":
          "mkdir $M/pictures; for p in $W/pictures/*; do dd if=\"$p\" of=$M/pictures/\"${p##*/}\" status=none; done",
      ]
      for (tool, script) in tools.sorted(by: { $0.key < $1.key }) {
        try mounted.sh(script)
        try expectPictures(mounted, in: "$M/pictures", thumbs: "$M/pictures/Thumb")
        try mounted.sh("rm -r $M/pictures; test ! -e $M/pictures")
        _ = tool
      }
    }
  }

  /// Makes an album as it is in a mount or in a backup, with Photo or Thumb first.
  private func makeAlbumTree(_ mounted: MountedStore, first: String) throws {
    let second = first == "Photo" ? "Thumb" : "Photo"
    // Made in this order, because a file system in memory lists and numbers them so.
    try mounted.sh(
      """
      tree=$(mktemp -d /dev/shm/albumfs-test-XXXXXX); ln -s $tree $W/source
      mkdir -p $tree/Trip/\(first) $tree/Trip/\(second) "$tree/Trip/Day 1/\(first)"
      mkdir "$tree/Trip/Day 1/\(second)"
      for album in Trip "Trip/Day 1"; do
        for photo in $W/pictures/*; do
          cp "$photo" "$tree/$album/Photo/"
          vips thumbnail "$photo" $W/small.png 100
          cp $W/small.png "$tree/$album/Thumb/${photo##*/}"
        done
      done
      find $tree -exec touch -d '2020-02-02 02:02:02' {} +
      """)
  }

  @Test(
    arguments: Way.all, ["Photo", "Thumb"])
  func aWholeAlbumTreeCanBeCopiedInByAnyTool(_ way: Way, first: String) throws {
    // Without a look at its system calls, a Python program that makes Photo looks like one that writes into
    // it.
    let options = way.seesCalls ? "" : ", dirs_exist_ok=True"
    let tools = [
      "cp -r $W/source/Trip $M/",
      "cp -a $W/source/Trip $M/",
      "/usr/bin/python3 -c 'import shutil, sys; shutil.copytree(*sys.argv[1:]\(options))' $W/source/Trip $M/Trip",
      "rsync -a $W/source/Trip $M/",
      "tar -C $W/source -cf - Trip | tar -C $M -xf -",
      "cp -a $W/source/Trip $W/there; mv $W/there $M/Trip",
    ]
    try using(way) { mounted in
      try makeAlbumTree(mounted, first: first)
      defer { _ = try? mounted.sh("rm -r $(readlink $W/source)") }
      for tool in tools {
        try mounted.sh(tool)
        try mounted.sync()
        // Files that the copy put into Thumb are the person's own, and stay.
        try mounted.sh("diff -r $W/source/Trip $M/Trip")
        try mounted.sh("rm -r $M/Trip")
      }
    }
  }

  @Test(arguments: Way.all) func aSecondRsyncHasNothingToDo(_ way: Way) throws {
    try using(way) { mounted in
      try makeAlbumTree(mounted, first: "Photo")
      defer { _ = try? mounted.sh("rm -r $(readlink $W/source)") }
      for (source, target) in [("$W/pictures", "$M/A/Photo"), ("$W/source/Trip", "$M/Trip")] {
        try mounted.sh("mkdir -p \(target); rsync -a \(source)/ \(target)/")
        try mounted.sync()
        let again = try mounted.sh("rsync -a --itemize-changes \(source)/ \(target)/")
        #expect(again == "", "into the mount")
      }
      try mounted.sh("rsync -a $M/ $W/backup/; diff -r $M $W/backup")
      #expect(try mounted.sh("rsync -a --itemize-changes $M/ $W/backup/") == "", "out of it")
      try mounted.sh("rsync -a --delete $W/backup/ $M/; diff -r $M $W/backup")
      #expect(try mounted.sh("rsync -a --delete --itemize-changes $W/backup/ $M/") == "", "back")
    }
  }

  /// The first run removes everything that the source lacks, Photo and Thumb included. The second has nothing
  /// to do. Thumb comes back when a user makes it.
  @Test(arguments: Way.all) func aMirrorOfAFolderIsIdleTheSecondTime(_ way: Way) throws {
    try using(way) { mounted in
      try mounted.sh(
        """
        mkdir -p $W/B/Photo; cp -a $W/pictures/* $W/B/Photo/
        mkdir $M/B; rsync -a --delete $W/B/ $M/B/
        """)
      try mounted.sync()
      #expect(try mounted.sh("rsync -ai --delete $W/B/ $M/B/") == "", "with a Photo")
      #expect(try mounted.sh("ls $M/B") == "Photo")
      try mounted.sh("mkdir $M/A; rsync -a --delete $W/pictures/ $M/A/")
      try mounted.sync()
      #expect(try mounted.sh("rsync -ai --delete $W/pictures/ $M/A/") == "")
      #expect(try mounted.sh("ls $M/A") == mounted.sh("ls $W/pictures"))
      let told = try mounted.sh("albumfs thumbs --all $M 2>&1")
      #expect(told.contains("A/Thumb was removed"), "\(told)")
      #expect(told.contains("mkdir A/Thumb"), "\(told)")
      try mounted.sh("mkdir $M/A/Thumb")
      try expectPictures(mounted, in: "$M/A", thumbs: "$M/A/Thumb")
      #expect(try !mounted.sh("albumfs thumbs --all $M/A 2>&1").contains("removed"))
    }
  }

  @Test(arguments: Way.all) func rsyncWithDeleteNeverTakesAPhotoThatItsSourceHas(_ way: Way) throws
  {
    try using(way) { mounted in
      try mounted.sh("mkdir $M/A")
      for _ in 0..<3 {
        try mounted.sh("rsync -a --delete $W/pictures/ $M/A/")
        try mounted.sync()
        try mounted.sh(
          "for photo in $W/pictures/*; do cmp \"$photo\" $M/A/\"${photo##*/}\"; done")
      }
      // An album without a Thumb, as a user may have sorted it elsewhere.
      try mounted.sh("mkdir -p $W/Trip/Photo; cp -a $W/pictures/* $W/Trip/Photo/")
      for _ in 0..<3 {
        try mounted.sh("rsync -a --delete $W/Trip $M/; diff -r $W/Trip/Photo $M/Trip/Photo")
        try mounted.sync()
      }
      try mounted.sh("rm $W/Trip/Photo/picture.png; rsync -a --delete $W/Trip $M/")
      try mounted.sh("diff -r $W/Trip/Photo $M/Trip/Photo; test ! -e $M/Trip/Thumb/picture.png")
    }
  }

  @Test(arguments: Way.all) func anAlbumCanBeTakenOutAndPutBack(_ way: Way) throws {
    try using(way) { mounted in
      try mounted.sh("mkdir -p $M/A/Inner; cp $W/pictures/* $M/A/Photo/")
      try mounted.sh("cp $W/pictures/*.png $M/A/Inner/Photo/; setfattr -n user.note -v x $M/A")
      try mounted.sync()
      try mounted.sh(
        """
        tar --xattrs -C $M -cf $W/a.tar A; mkdir $W/out; tar --xattrs -C $W/out -xf $W/a.tar
        diff -r $M/A $W/out/A; rm -r $M/A
        tar --xattrs -C $M -xf $W/a.tar; diff -r $M/A $W/out/A; rm -r $M/A
        cp -a $W/out/A $M/; diff -r $M/A $W/out/A; rm -r $M/A
        mv $W/out/A $M/; test ! -e $W/out/A
        mv $M/A $W/out/; test ! -e $M/A; tar -C $W/out -df $W/a.tar
        """)
    }
  }

  @Test(arguments: Way.all) func aProgramMayUseANewAlbumAtOnce(_ way: Way) throws {
    try using(way) { mounted in
      try mounted.python(
        """
        for number in range(20):
            album = f"{M}/A{number}"
            os.mkdir(album)
            put(album + "/Photo/note.txt")
            os.mkdir(album + "/Photo/folder")
            os.mkdir(album + "/Inner")
            put(album + "/Inner/Photo/note.txt")
            assert get(album + "/Photo/note.txt") == get(album + "/Inner/Photo/note.txt")
            assert sorted(os.listdir(album)) == ["Inner", "Photo", "Thumb"]
        """)
      try mounted.sh("for i in 1 2 3; do mkdir $M/S$i; cp $W/pictures/* $M/S$i/Photo/; done")
      try expectPictures(mounted, in: "$M/S3/Photo", thumbs: "$M/S3/Thumb")
      // A program that has seen Photo cannot make it.
      try mounted.sh("mkdir $M/B; ls $M/B > /dev/null")
    }
  }

  @Test(arguments: Way.all) func aCopyMayReplaceAndAddPhotosOfAnAlbum(_ way: Way) throws {
    try using(way) { mounted in
      try mounted.sh(
        """
        cp -r $W/pictures $M/A; cp -r $W/pictures/. $M/A/; cp -r $W/pictures/. $M/A/Photo/
        cp -rf $W/pictures/. $M/A/Photo/; cp --reflink=auto $W/pictures/*.png $M/A/more.png
        cp -a $M/A $M/B; diff -r $M/A/Photo $M/B/Photo
        """)
      try mounted.sync()
      try mounted.sh("diff -r $W/pictures $M/B/Photo; test -s $M/B/Thumb/more.png")
    }
  }

  @Test(.enabled(if: geteuid() == 0, "only root may let others in"))
  func othersAreLetInWithAllowOtherAndOnlyThen() throws {
    try MountedStore.use(mountOptions: ["--allow-other"]) { mounted in
      try mounted.sh("chmod 755 $M; mkdir -m 777 $M/A; echo private > $M/p; chmod 600 $M/p")
      try mounted.sh("chmod 777 $M/A/Photo")
      #expect(
        try mounted.outcome(as: .ordinary, "mkdir $M/A/B; echo x > $M/A/Photo/x; cat $M/A/Photo/x")
          .output == "x\n")
      #expect(try mounted.sh("stat -c %u $M/A/B $M/A/Photo/x") == "65534\n65534")
      #expect(
        try mounted.outcome(as: .ordinary, "cat $M/p").errors.contains("Permission denied"))
      try mounted.remount()
      #expect(try mounted.outcome(as: .ordinary, "ls $M").errors.contains("Permission denied"))
    }
  }
}
