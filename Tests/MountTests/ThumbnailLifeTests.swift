import AlbumTestSupport
import Foundation
import Testing

/// Thumb shows the current content of Photo, and a decoder holds nothing else.
@Suite(.serialized) struct ThumbnailLifeTests {
  /// Ways to overwrite a photo with something that is no picture, by the name of the photo.
  private static let overwriting = """
    cd $M/A/Photo
    cp $W/text.txt copied.jpg
    echo text > redirected.jpg
    : > emptied.jpg
    truncate -s 10 truncated.jpg
    dd status=none if=/dev/urandom of=noise.jpg bs=64 count=1 conv=notrunc
    printf '\\x89PNG\\r\\n\\x1a\\n and no more' > broken.jpg
    /usr/bin/python3 - <<END
    import mmap, os
    with open("mapped.jpg", "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
        memory[:] = b"n" * len(memory)
        memory.flush()
        memory.close()
    with open("shared.jpg", "r+b") as file, open("note.txt", "rb") as text:
        assert os.copy_file_range(text.fileno(), file.fileno(), 20) == 20
    END
    fallocate -p -o 0 -l 600 punched.jpg
    """

  private static let photos = [
    "broken", "copied", "emptied", "mapped", "noise", "punched", "redirected", "shared",
    "truncated",
  ]

  @Test func aPhotoThatWasOverwrittenWithSomethingElseShowsNoThumbnail() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.write(Data("This is a text and not a picture.\n".utf8), "text.txt")
      try mounted.sh("mkdir $M/A; cp $W/text.txt $M/A/Photo/note.txt")
      for name in Self.photos + ["kept"] {
        try mounted.sh("cp \"$W/pictures/orientation 1.jpg\" $M/A/Photo/\(name).jpg")
      }
      try mounted.sync()
      let all = (Self.photos + ["kept"]).sorted().map { $0 + ".jpg" }.joined(separator: "\n")
      #expect(try mounted.sh("ls $M/A/Thumb") == all)
      try mounted.sh(Self.overwriting)
      #expect(try mounted.sh("ls $M/A/Thumb") == "kept.jpg", "at once")
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A/Thumb") == "kept.jpg", "when all are made")
      for name in Self.photos { try mounted.sh("test ! -e $M/A/Thumb/\(name).jpg") }
      try mounted.remount()
      #expect(try mounted.sh("ls $M/A/Thumb") == "kept.jpg", "after a remount")
      try mounted.sh("albumfs thumbs -q --all $M")
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A/Thumb") == "kept.jpg", "after all were made again")
      try mounted.remount(["--read-only"])
      #expect(try mounted.sh("ls $M/A/Thumb") == "kept.jpg", "read-only")
    }
  }

  /// A worker keeps its share of the processor, and lives on for half a minute.
  private static let hasWorker = """
    shared() { pgrep -f -a -P $(albumfs status --json $M | /usr/bin/python3 -c \
      'import json, sys; print(json.load(sys.stdin)["pid"])') albumfs-thumbnailer |
      grep -q -e "--share $1"; }
    """

  @Test func whatWasJustWrittenGetsAnOrdinaryShareOfTheProcessorAndWhatIsMadeAgainASmallOne() throws
  {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh(
        """
        \(Self.hasWorker)
        mkdir $M/A; cp "$W/pictures/orientation 1.jpg" $M/A/Photo/a.jpg
        await test -e $M/A/Thumb/a.jpg
        shared 2
        albumfs thumbs -q --all $M
        await shared 1
        """)
    }
  }

  /// albumfs believes at once that an album is complete, so the kernel may trust its names.
  private static let alwaysQuiet = "album=0"

  /// The kernel may cache a thumbnail's name and attributes for a moment, but not longer than they are true.
  @Test func changesOfAPhotoShowAtItsThumbnailAtOnce() throws {
    try MountedStore.use(delays: Self.alwaysQuiet) { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp \"$W/pictures/orientation 1.jpg\" $M/A/Photo/a.jpg")
      try mounted.sh("cp $M/A/Photo/a.jpg $M/A/Photo/b.jpg; echo text > $M/A/Photo/note.txt")
      try mounted.sync()
      try mounted.python(
        """
        def warm(*names):
            # The kernel learns names from a listing and from look-ups.
            for _ in range(3):
                assert sorted(os.listdir(f"{M}/A/Thumb")) == sorted(names)
                for name in names: os.stat(f"{M}/A/Thumb/{name}")
        def there(name): return os.path.exists(f"{M}/A/Thumb/{name}")
        photo = f"{M}/A/Photo/"
        warm("a.jpg", "b.jpg")
        os.utime(photo + "a.jpg", (1000, 2000))
        assert os.stat(f"{M}/A/Thumb/a.jpg").st_mtime == 2000
        os.chmod(photo + "a.jpg", 0o600)
        mode = os.stat(f"{M}/A/Thumb/a.jpg").st_mode & 0o777
        assert mode == 0o600, oct(mode)
        warm("a.jpg", "b.jpg")
        os.rename(photo + "a.jpg", photo + "c.jpg")
        assert there("c.jpg") and not there("a.jpg")
        warm("b.jpg", "c.jpg")
        os.unlink(photo + "b.jpg")
        assert there("c.jpg") and not there("b.jpg")
        warm("c.jpg")
        with open(photo + "c.jpg", "wb") as file: file.write(b"no picture")
        assert not there("c.jpg")
        """)
    }
  }

  /// Programs that create a name exclusively, and copiers, act as if no thumbnail existed, cached or not.
  @Test func aCachedThumbnailHindersNoProgram() throws {
    try MountedStore.use(delays: Self.alwaysQuiet) { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp \"$W/pictures/orientation 1.jpg\" $M/A/Photo/a.jpg")
      try mounted.sh("cp $M/A/Photo/a.jpg $M/A/Photo/b.jpg; cp $M/A/Photo/a.jpg $M/A/Photo/c.jpg")
      try mounted.sync()
      try mounted.python(
        """
        for _ in range(3):
            for name in os.listdir(f"{M}/A/Thumb"): os.stat(f"{M}/A/Thumb/{name}")
        with open(f"{M}/A/Thumb/a.jpg", "xb") as file: file.write(b"own")
        os.symlink("x", f"{M}/A/Thumb/b.jpg")
        os.link(f"{M}/A/Thumb/a.jpg", f"{M}/A/Thumb/c.jpg")
        assert get(f"{M}/A/Thumb/c.jpg") == b"own"
        """)
    }
  }

  @Test func aPhotoThatChangedShowsNoThumbnailUntilTheNewOneIsMade() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp \"$W/pictures/orientation 1.jpg\" $M/A/Photo/a.jpg")
      try mounted.sync()
      // If no worker can be started, the new thumbnail waits for the next mount.
      try mounted.remount(["--thumbnailer", "/bin/false"])
      try mounted.sh("test -e $M/A/Thumb/a.jpg; cp $W/pictures/picture.png $M/A/Photo/a.jpg")
      #expect(try mounted.sh("ls $M/A/Thumb") == "")
      try mounted.kill()
      try mounted.sh("fusermount3 -uz $M || umount -l $M")
      try mounted.mount(["--read-only"])
      #expect(try mounted.sh("ls $M/A/Thumb") == "", "read-only, after a kill")
      try mounted.remount()
      try mounted.sync()
      #expect(try mounted.isUpright("$M/A/Thumb/a.jpg"))
    }
  }

  /// The tests of the queue show that no worker serves two spaces of one process.
  @Test func theWorkersOfASpaceEndWithItsMount() throws {
    let first = try MountedStore()
    let second = try MountedStore()
    defer {
      first.abandon()
      second.abandon()
    }
    var workers: [Set<String>] = []
    for mounted in [first, second] {
      try mounted.mount()
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp $W/pictures/* $M/A/Photo/")
      try mounted.sync()
      // Idle workers live for half a minute more.
      let children = try mounted.sh("pgrep -P \(mounted.daemon) albumfs-thumbn")
      workers.append(Set(children.split(separator: "\n").map(String.init)))
    }
    #expect(!workers[0].isEmpty && !workers[1].isEmpty)
    for mounted in [first, second] { try mounted.unmount() }
    for worker in workers[0].union(workers[1]) {
      #expect(!FileManager.default.fileExists(atPath: "/proc/\(worker)"), "\(worker)")
    }
  }
}
