import AlbumTestSupport
import Foundation
import Testing

/// The times of a store, which every recommended backup keeps, reveal nothing.
@Suite(.serialized) struct RestingTimesTests {
  /// `natural(store)` returns all files whose modification time is not at rest. (Looking at folders changes
  /// their access times.)
  private static let prelude = """
    def at_rest(status):
        return status.st_mtime_ns % 2_000_000_000 == 0 and 315532800 <= status.st_mtime < 852403712
    def natural(store):
        found = []
        for top, folders, files in os.walk(store):
            if os.stat(top).st_mtime_ns != 315532800 * 10 ** 9: found.append(top)
            found += [f"{top}/{name}" for name in files if not at_rest(os.stat(f"{top}/{name}"))]
        return sorted(found)
    def segments(store): return {path: os.stat(path) for path in
        (os.path.join(top, name) for top, _, names in os.walk(store + "/segments") for name in names)}

    """

  private func expectRest(_ mounted: MountedStore, _ when: String) throws {
    try mounted.python(
      Self.prelude + "left = natural(S)\nassert not left, (\"\(when)\", left)")
  }

  private func second(_ mounted: MountedStore) throws {
    try mounted.setPassword("another one", "password-2")
    try mounted.sh("albumfs space add -q --password-file $W/../password-2 $S")
  }

  @Test func everythingHasItsTimeAtRestAfterEachCommandAndAnUnmount() throws {
    let mounted = try MountedStore(initOptions: ["--chaff", "3M"], content: nil)
    defer { mounted.abandon() }
    try mounted.python("assert len(os.listdir(S + '/segments')) == 256")
    try expectRest(mounted, "init")
    try second(mounted)
    try expectRest(mounted, "space add")
    try mounted.sh("albumfs chaff add -q $S 2M")
    try expectRest(mounted, "chaff add")
    try mounted.mount()
    try mounted.sh("mkdir $M/A; head -c 5M /dev/urandom > $M/A/Photo/file; rm $M/A/Photo/file")
    try mounted.unmount()
    try expectRest(mounted, "unmount")
    try mounted.setPassword("a new one", "password-new")
    try mounted.sh(
      "albumfs space password -q --password-file $P --new-password-file $W/../password-new $S")
    try expectRest(mounted, "space password")
    try mounted.sh("albumfs space destroy -q --yes --password-file $W/../password-2 $S")
    try expectRest(mounted, "space destroy")
    try mounted.sh(
      "albumfs space destroy -q --yes --remove-segments --password-file $W/../password-new $S")
    try expectRest(mounted, "space destroy --remove-segments")
  }

  /// Folders that only a second space wrote to used to be younger than those of chaff alone.
  @Test func aCopyThatKeepsTimesShowsNoFolderThatASecondSpaceChanged() throws {
    let mounted = try MountedStore(initOptions: ["--chaff", "8M"], content: nil)
    defer { mounted.abandon() }
    try second(mounted)
    for password in ["correct horse", "another one"] {
      try mounted.mount(password: password)
      try mounted.sh("mkdir $M/A; head -c 6M /dev/urandom > $M/A/Photo/file")
      try mounted.unmount()
    }
    try mounted.sh("rsync -a $S/ $W/copy/")
    try mounted.python(
      Self.prelude + """
        assert not natural(W + "/copy"), natural(W + "/copy")
        times = {os.stat(W + "/copy/segments/" + name).st_mtime_ns for name in os.listdir(S + "/segments")}
        assert len(times) == 1, times
        """)
  }

  @Test func anyWritableMountSettlesWhatAKilledSessionLeft() throws {
    let mounted = try MountedStore(initOptions: ["--chaff", "2M"], content: nil)
    defer { mounted.abandon() }
    try second(mounted)
    try mounted.mount()
    try mounted.sh("mkdir $M/A; head -c 5M /dev/urandom > $M/A/Photo/file")
    try mounted.kill()
    // Sets times as a kill between a write and the setting of its time leaves them.
    try mounted.python(
      Self.prelude + """
        for path in list(segments(S))[:4] + [S + "/keys", S + "/segments/7a", S + "/segments", S]:
            os.utime(path)
        assert len(natural(S)) >= 8
        """)
    try mounted.sh("fusermount3 -u $M || true")
    try mounted.mount(password: "another one")
    try mounted.unmount()
    try expectRest(mounted, "the other space was mounted")
    try mounted.mount()
    #expect(try mounted.sh("stat -c %s $M/A/Photo/file") == "5242880")
    try mounted.unmount()
    try expectRest(mounted, "the killed space was mounted")
  }

  /// A backup leaves access times on everything that it reads. Without a reset, a segment without one is
  /// newer than the backup, and a single copy shows what two copies show.
  @Test func theAccessTimesThatABackupLeftAreGoneAfterTheNextSession() throws {
    let mounted = try MountedStore(initOptions: ["--chaff", "2M"], content: nil)
    defer { mounted.abandon() }
    try mounted.python(
      Self.prelude + """
        for path, status in segments(S).items(): os.utime(path, (time.time(), status.st_mtime))
        """)
    try mounted.mount()
    try mounted.sh("mkdir $M/A; head -c 2M /dev/urandom > $M/A/Photo/file")
    try mounted.unmount()
    try mounted.python(
      Self.prelude + """
        left = [path for path, status in segments(S).items() if status.st_atime != status.st_mtime]
        assert not left, left
        """)
  }

  /// rsync recognises changes by time and size. A segment that was written to has another time, and so has
  /// `keys`.
  @Test func rsyncStillSeesEveryChange() throws {
    let mounted = try MountedStore(initOptions: ["--chaff", "1M"], content: nil)
    defer { mounted.abandon() }
    try mounted.mount()
    try mounted.sh("rsync -a $S/ $W/copy/; mkdir $M/A; head -c 3M /dev/urandom > $M/A/Photo/file")
    try mounted.unmount()
    try mounted.setPassword("a new one", "password-new")
    try mounted.sh(
      """
      rsync -a --delete $S/ $W/copy/; diff -r $S $W/copy
      albumfs space password -q --password-file $P --new-password-file $W/../password-new $S
      rsync -a --delete $S/ $W/copy/; diff -r $S $W/copy
      """)
  }

  @Test(.enabled(if: SmallDisk.isPossible, "needs root"))
  func readingChangesNoAccessTime() throws {
    let disk = try SmallDisk(.tmpfs, mebibytes: 96)
    defer { disk.remove() }
    let mounted = try MountedStore(
      initOptions: ["--chaff", "2M"], storeIn: disk.path, content: nil)
    defer { mounted.abandon() }
    try mounted.sh("mount -o remount,strictatime \(disk.path)")
    try mounted.mount()
    try mounted.sh("mkdir $M/A; head -c 5M /dev/urandom > $M/A/Photo/file")
    try mounted.unmount()
    // Paths are listed once: looking at folders changes their access times.
    let look = """
      import json
      def look(): return {path: [os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns] for path in paths}

      """
    try mounted.python(
      look + """
        paths = [S] + [f"{top}/{name}" for top, folders, files in os.walk(S) for name in folders + files]
        assert len(paths) > 1 + 1 + 256 + 3
        for path in paths: os.utime(path, ns=(1_500_000_000_000_000_000, os.stat(path).st_mtime_ns))
        put(W + "/before", json.dumps(look()).encode())
        """)
    try mounted.mount(["--read-only"])
    try mounted.sh("cat $M/A/Photo/file | wc -c; find $M > $W/listing")
    try mounted.unmount()
    let compare =
      look + """
        before = json.loads(get(W + "/before"))
        paths = list(before)
        changed = [path for path, times in look().items() if times != before[path]]

        """
    try mounted.python(compare + "assert not changed, ('a mount to read', changed)")
    try mounted.sh("albumfs check --password-file $P $S > $W/check")
    try mounted.python(compare + "assert not changed, ('check', changed)")
    try mounted.sh(
      """
      albumfs chaff status $S > $W/status; albumfs chaff status --password-file $P $S > $W/status
      albumfs info $S > $W/info
      """)
    try mounted.python(compare + "assert not changed, ('chaff status and info', changed)")
    // Without the reset this disk would show it.
    try mounted.sh("cat $S/keys | wc -c; ls $S/segments > $W/listing")
    try mounted.python(
      compare + "assert sorted(changed) == sorted([S + '/keys', S + '/segments']), changed")
  }
}
