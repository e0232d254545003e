import AlbumTestSupport
import Foundation
import Testing

/// What somebody learns who has the store, or looks at the processes: nothing.
@Suite(.serialized) struct SecrecyTests {
  /// Fails for a file of the store that is not as random bytes are: chi-square over its bytes within
  /// nine standard deviations, and no shorter when compressed.
  private static let checkRandomness = """
    import collections, glob, lzma, zlib
    segments = [path for path in glob.glob(S + "/segments/*/*")]
    assert len(segments) >= 3, segments
    assert {os.path.getsize(path) for path in segments} == {1 << 20}
    assert {os.stat(path).st_blocks * 512 >= 1 << 20 for path in segments} == {True}, "holes"
    for path in segments + [S + "/keys"]:
        content = get(path)
        expected = len(content) / 256
        counts = collections.Counter(content)
        chi = sum((counts[byte] - expected) ** 2 for byte in range(256)) / expected
        assert abs(chi - 255) < 9 * 510 ** 0.5, (path, chi)
        assert len(zlib.compress(content, 1)) >= len(content), path
        for start in range(0, len(content), 65536):
            part = content[start:start + 65536]
            assert len(zlib.compress(part, 1)) >= len(part), (path, start)
    """

  /// A tree whose names and contents would be found again.
  private func fill(_ mounted: MountedStore) throws {
    try mounted.write(PictureSet.shared.get().some, into: "pictures")
    try mounted.python(
      """
      os.mkdir(M + "/Holidays in Portugal"); os.mkdir(M + "/.plain")
      for number in range(100):
          put(f"{M}/.plain/conspicuous name {number}", b"conspicuous content %d " % number * 100)
      put(M + "/.plain/zeros", bytes(2_000_000))
      os.symlink("conspicuous target", M + "/.plain/conspicuous link")
      os.setxattr(M + "/.plain", "user.conspicuous", b"conspicuous value")
      subprocess.run(f"cp {W}/pictures/* '{M}/Holidays in Portugal/Photo/'", shell=True, check=True)
      """)
  }

  @Test func noNameAndNoContentIsFoundInTheStore() throws {
    try MountedStore.use { mounted in
      try fill(mounted)
      try mounted.sync()
      let search = """
        store = b"".join(get(os.path.join(folder, name)) for folder, _, names in os.walk(S) for name in names)
        paths = b"".join(os.fsencode(os.path.join(folder, name)) for folder, _, names in os.walk(S) for name in names)
        needles = [b"conspicuous", b"Portugal", b"Photo", b"Thumb", b"orientation", b"picture", b"JFIF", b"Exif", b"IHDR", b"correct horse"]
        needles += [get(W + "/pictures/" + name)[at:at + 12] for name in os.listdir(W + "/pictures") for at in (2000, 4000)]
        needles += [bytes(16)]
        for needle in needles: assert len(needle) < 5 or needle not in store, needle
        for needle in needles[:6]: assert needle not in paths, needle
        """
      try mounted.python(search)
      try mounted.unmount()
      try mounted.python(search)
    }
  }

  @Test func theStoreIsRandomBytesInSegmentsOfOneSizeAfterAnUnmount() throws {
    try MountedStore.use(initOptions: ["--chaff", "4M"]) { mounted in
      try fill(mounted)
      try mounted.sync()
      try mounted.unmount()
      try mounted.python(Self.checkRandomness)
    }
  }

  @Test func theStoreIsRandomBytesInSegmentsOfOneSizeAfterAKill() throws {
    try MountedStore.use(initOptions: ["--chaff", "2M"]) { mounted in
      try fill(mounted)
      try mounted.sh("cat $W/pictures/* $W/pictures/* > $M/.plain/more")
      try mounted.kill()
      try mounted.python(Self.checkRandomness)
      try mounted.mount()
      try mounted.unmount()
      try mounted.python(Self.checkRandomness)
    }
  }

  @Test func anotherPasswordOpensAnotherSpaceAndShowsNothingOfTheFirst() throws {
    try MountedStore.use { mounted in
      try fill(mounted)
      try mounted.unmount()
      try mounted.setPassword("another one", "password-2")
      try mounted.sh("albumfs space add -q --password-file $W/../password-2 $S")
      try mounted.mount(password: "another one")
      #expect(try mounted.sh("ls -A $M") == "")
      let status = try mounted.status()
      #expect(status.photos == 0 && status.albums == 0)
      try mounted.sh("mkdir $M/Second; echo second > $M/Second/file")
      try mounted.remount()
      #expect(try mounted.sh("ls -A $M") == ".plain\nHolidays in Portugal")
      try mounted.unmount()
      try mounted.mount(password: "another one")
      #expect(try mounted.sh("cat $M/Second/file") == "second")
    }
  }

  @Test func twoSpacesOfOneStoreCanBeMountedAtOnceAndTheSameOneCannot() throws {
    try MountedStore.use { mounted in
      try mounted.setPassword("another one", "password-2")
      try mounted.sh("albumfs space add -q --password-file $W/../password-2 $S")
      let second = mounted.work + "/../mnt2"
      let point = URL(fileURLWithPath: second).standardizedFileURL.path
      let refused = try mounted.outcome("albumfs mount --password-file $P $S \(point)")
      #expect(refused.code == 40)
      try mounted.mount(at: point, password: "another one")
      try mounted.python(
        """
        import threading
        random.seed(3)
        content = [random.randbytes(200_000) for _ in range(40)]
        def fill(top):
            os.mkdir(top + "/.plain")
            for number, bytes in enumerate(content): put(f"{top}/.plain/{number}", bytes)
        both = [threading.Thread(target=fill, args=(top,)) for top in (M, "\(point)")]
        for one in both: one.start()
        for one in both: one.join()
        for top in M, "\(point)":
            assert [get(f"{top}/.plain/{number}") for number in range(40)] == content
        """)
      try mounted.unmount(point)
      try mounted.remount()
      try mounted.mount(at: point, password: "another one")
      try mounted.sh("diff -r $M \(point)")
    }
  }

  @Test func infoTellsNothingOfSpaces() throws {
    try MountedStore.use { mounted in
      let before = try mounted.sh("albumfs info $S; albumfs info --json $S")
      #expect(before.contains("1M") || before.contains("1048576"))
      try mounted.setPassword("another one", "password-2")
      try mounted.sh("albumfs space add -q --password-file $W/../password-2 $S")
      try fill(mounted)
      #expect(try mounted.sh("albumfs info $S; albumfs info --json $S") == before)
    }
  }

  @Test func thePasswordIsNotSeenAmongTheProcesses() throws {
    try MountedStore.use { mounted in
      for process in ["\(mounted.daemon)"] {
        for file in ["cmdline", "environ", "comm", "status"] {
          try mounted.sh("! grep -qa 'correct horse' /proc/\(process)/\(file)")
        }
        // No core dump would hold it either.
        let limits = try mounted.sh("grep 'Max core file size' /proc/\(process)/limits")
        #expect(limits.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
      }
      try mounted.sh("! ps axww | grep -v grep | grep 'correct horse'")
      // The thumbnailer, which decodes what strangers sent, has neither.
      try mounted.sh(
        """
        mkdir $M/A
        for child in $(pgrep -P \(mounted.daemon)); do
          ! grep -qa 'correct horse' /proc/$child/environ /proc/$child/cmdline
        done
        """)
    }
  }

  @Test func thePasswordCanBeChangedAndForgotten() throws {
    try MountedStore.use { mounted in
      try mounted.sh("echo kept > $M/file")
      try mounted.unmount()
      try mounted.setPassword("a new one", "password-new")
      let key = try mounted.sh("albumfs space recovery-key --password-file $P $S")
      try mounted.sh(
        "albumfs space password -q --password-file $P --new-password-file $W/../password-new $S")
      #expect(try mounted.outcome("albumfs mount --password-file $P $S $M").code == 12)
      try mounted.mount(password: "a new one")
      #expect(try mounted.sh("cat $M/file") == "kept")
      try mounted.unmount()
      try mounted.setPassword(key, "password-key")
      try mounted.sh("albumfs mount --recovery-key --password-file $W/../password-key $S $M")
      #expect(try mounted.sh("cat $M/file") == "kept")
      try mounted.sh("albumfs umount $M")
    }
  }
}
