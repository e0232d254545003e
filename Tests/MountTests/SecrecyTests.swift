import AlbumTestSupport
import Foundation
import Testing

/// The store and the processes reveal nothing of the content.
@Suite(.serialized) struct SecrecyTests {
  /// Fails for a file of the store that does not look random: chi-square over its bytes must be within nine
  /// standard deviations, and compression must not shorten it.
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

  /// Makes a tree whose names and contents a search would find.
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
    try MountedStore.use(content: nil) { mounted in
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
    try MountedStore.use(initOptions: ["--chaff", "4M"], content: nil) { mounted in
      try fill(mounted)
      try mounted.sync()
      try mounted.unmount()
      try mounted.python(Self.checkRandomness)
    }
  }

  @Test func theStoreIsRandomBytesInSegmentsOfOneSizeAfterAKill() throws {
    try MountedStore.use(initOptions: ["--chaff", "2M"], content: nil) { mounted in
      try fill(mounted)
      try mounted.sh("cat $W/pictures/* $W/pictures/* > $M/.plain/more")
      try mounted.kill()
      try mounted.python(Self.checkRandomness)
      try mounted.mount()
      try mounted.unmount()
      try mounted.python(Self.checkRandomness)
    }
  }

  @Test func anotherPasswordUnlocksAnotherSpaceAndShowsNothingOfTheFirst() throws {
    try MountedStore.use(content: nil) { mounted in
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
    try MountedStore.use(content: nil) { mounted in
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

  @Test func infoShowsNothingOfSpaces() throws {
    try MountedStore.use(content: nil) { mounted in
      let before = try mounted.sh("albumfs info $S; albumfs info --json $S")
      #expect(before.contains("1M") || before.contains("1048576"))
      try mounted.setPassword("another one", "password-2")
      try mounted.sh("albumfs space add -q --password-file $W/../password-2 $S")
      try fill(mounted)
      #expect(try mounted.sh("albumfs info $S; albumfs info --json $S") == before)
    }
  }

  @Test func noProcessListShowsThePassword() throws {
    try MountedStore.use(content: nil) { mounted in
      for process in ["\(mounted.daemon)"] {
        for file in ["cmdline", "environ", "comm", "status"] {
          try mounted.sh("! grep -qa 'correct horse' /proc/\(process)/\(file)")
        }
        // No core dump would hold it either.
        let limits = try mounted.sh("grep 'Max core file size' /proc/\(process)/limits")
        #expect(limits.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
      }
      try mounted.sh("! ps axww | grep -v grep | grep 'correct horse'")
      // The thumbnailer, which decodes pictures of strangers, has the password nowhere. Its memory is
      // examined too, if the test may. The daemon's memory holds the keys and never the password.
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp $W/pictures/* $M/A/Photo/")
      try mounted.sync()
      try mounted.python(
        """
        words = ["pgrep", "-P", "\(mounted.daemon)", "albumfs-thumbn"]
        children = subprocess.run(words, capture_output=True, text=True).stdout.split()
        assert children, "no worker lives"
        def memory(process):
            with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as file:
                for line in maps:
                    words = line.split()
                    start, end = (int(word, 16) for word in words[0].split("-"))
                    if "r" not in words[1] or words[-1] in ("[vvar]", "[vsyscall]"): continue
                    while start < end:
                        file.seek(start)
                        try: part = file.read(min(end - start, 16 << 20))
                        except OSError: break
                        if not part: break
                        yield part
                        start += len(part)
        looked = 0
        for process in children:
            # A worker may end when it has nothing to do.
            try:
                for name in "cmdline", "environ", "comm", "status":
                    assert b"correct horse" not in get(f"/proc/{process}/{name}"), (process, name)
                if os.geteuid() == 0:
                    for part in memory(process):
                        looked += len(part)
                        assert b"correct horse" not in part, (process, "memory")
            except (FileNotFoundError, ProcessLookupError): continue
        assert looked > 1 << 20 or os.geteuid() != 0, looked
        """)
    }
  }

  /// Expects the sessions that the segments show, and not one for all.
  @Test func chaffStatusTakesTheAgeOfTheSpaceFromTheNamesOfItsSegments() throws {
    try MountedStore.use(content: nil) { mounted in
      let sessions = { (options: String) in
        try mounted.sh(
          "albumfs chaff status --json \(options) $S | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)[\"sessions\"])'"
        )
      }
      #expect(try sessions("--password-file $P") == "0", "nothing was written yet")
      for turn in 1...3 {
        if turn > 1 { try mounted.mount() }
        try mounted.sh("head -c 2M /dev/urandom > $M/file-\(turn)")
        try mounted.unmount()
        #expect(try sessions("--password-file $P") == "\(turn)")
      }
      #expect(try sessions("") == "1")
      #expect(try sessions("--password-file $P --sessions 40") == "40")
    }
  }

  @Test func aMountWithTheTestVariableThatForbidsChaffWarns() throws {
    let mounted = try MountedStore(content: nil)
    defer { mounted.abandon() }
    for (value, options, isTold) in [
      ("yes", "", true), ("no", "", false), ("yes", "--read-only", false),
    ] {
      let outcome = try mounted.outcome(
        "ALBUMFS_TESTS_FORBID_CHAFF=\(value) albumfs mount \(options) --password-file $P $S $M")
      #expect(outcome.code == 0 && outcome.errors.contains("no chaff is added") == isTold)
      try mounted.sh("albumfs umount $M")
    }
  }

  @Test func thePasswordCanBeChangedAndForgotten() throws {
    try MountedStore.use(content: nil) { mounted in
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
