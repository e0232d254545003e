import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// Every wrong input gets a clear message and its exit code, and nothing is lost.
@Suite(.serialized) struct BadInputTests {
  /// Expects a script to fail with a code and with these words on standard error, in one or two lines.
  private func expect(
    _ mounted: MountedStore, _ code: Int32, _ words: String..., of script: String,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let outcome = try mounted.outcome(script)
    #expect(outcome.code == code, "\(script): \(outcome.errors)", sourceLocation: location)
    for word in words {
      #expect(
        outcome.errors.lowercased().contains(word.lowercased()), "\(script): \(outcome.errors)",
        sourceLocation: location)
    }
    #expect(outcome.output == "", sourceLocation: location)
    #expect(!outcome.errors.contains("Fatal error"), sourceLocation: location)
  }

  /// Runs `body` with a store that is not mounted.
  private func withStore(
    initOptions: [String] = [], _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore(initOptions: initOptions)
    defer { mounted.abandon() }
    try body(mounted)
  }

  private let mount = "albumfs mount --password-file $P $S $M"

  @Test func passwords() throws {
    try withStore { mounted in
      try expect(mounted, 12, "password", of: "albumfs mount --password-command 'echo no' $S $M")
      try expect(mounted, 22, "empty", of: "albumfs mount --password-command 'echo' $S $M")
      try expect(mounted, 22, "empty", of: "albumfs mount --password-file /dev/null $S $M")
      try expect(mounted, 9, "terminal", "--password-file", of: "albumfs mount $S $M < /dev/null")
      try expect(mounted, 9, "/nowhere", of: "albumfs mount --password-file /nowhere $S $M")
      try expect(mounted, 9, "failed", of: "albumfs mount --password-command false $S $M")
      try expect(
        mounted, 1, "only one", of: "albumfs mount --password-stdin --password-file $P $S $M")
      try expect(mounted, 22, "empty", of: "echo | albumfs init --password-stdin $W/new")
      try mounted.sh("test ! -e $W/new")
      try expect(
        mounted, 45, "already", of: "albumfs space add --password-file $P $S")
      // The right passwords, in each of the ways.
      for source in ["--password-file $P", "--password-command 'cat $P'", "--password-stdin < $P"] {
        try mounted.sh("albumfs mount $S $M \(source); albumfs umount $M")
      }
    }
  }

  @Test func stores() throws {
    try withStore { mounted in
      try expect(
        mounted, 6, "does not exist", of: "albumfs mount --password-file $P $W/nowhere $M")
      try expect(mounted, 6, "store", of: "albumfs mount --password-file $P $W $M")
      try expect(mounted, 6, of: "albumfs mount --password-file $P $P $M")
      try expect(mounted, 6, of: "albumfs info $W")
      try expect(mounted, 7, "store already", of: "albumfs init --password-file $P $S")
      try expect(mounted, 7, "not empty", of: "albumfs init --password-file $P /etc")
      try expect(
        mounted, 1, "--segment-size", of: "albumfs init --segment-size 3K --password-file $P $W/x")
      try expect(mounted, 1, of: "albumfs init --kdf none --password-file $P $W/x")
      try mounted.sh("test ! -e $W/x")
    }
  }

  @Test func damagedConfAndKeys() throws {
    try withStore { mounted in
      try mounted.sh("cp -a $S $W/good")
      func damaged(_ how: String, _ code: Int32, _ words: String) throws {
        try mounted.sh("rm -r $S; cp -a $W/good $S; cd $S; \(how)")
        try expect(mounted, code, words, of: mount)
      }
      let both = "albumfs.conf albumfs.conf.bak"
      // Edits the conf as an attacker who knows the format can: with a checksum that fits.
      func edited(_ change: String) -> String {
        """
        /usr/bin/python3 - \(both) <<'END'
        import re, sys, zlib
        for path in sys.argv[1:]:
            text = open(path).read()
            changed = re.sub(*\(change), text[:text.rindex("crc32")])
            assert changed not in text
            open(path, "w").write(changed + "crc32 %08x\\n" % zlib.crc32(changed.encode()))
        END
        """
      }
      try damaged(edited("('format 1', 'format 2')"), 8, "newer albumfs")
      try damaged(edited("(r'memory \\d+', 'memory 1099511627776')"), 8, "absurd")
      try damaged(edited("(r'salt .{32}', 'salt ' + '07' * 16)"), 12, "password")
      try damaged(edited("(r'segment-size \\d+', 'segment-size 2097152')"), 8, "edited")
      try damaged("sed -i 's/operations 1/operations 2/' \(both)", 8, "conf")
      try damaged("sed -i '$d' \(both)", 8, "conf")
      try damaged("truncate -s 500 keys", 8, "keys")
      try damaged("truncate -s 0 keys", 8, "keys")
      try damaged("rm keys", 8, "keys")
      try damaged("rm \(both)", 6, "albumfs.conf")
      try damaged(
        "head -c 1000 /dev/urandom | tee albumfs.conf > albumfs.conf.bak", 6, "albumfs.conf")
      // One good copy of the conf is enough, and a warning names the other.
      for file in ["albumfs.conf", "albumfs.conf.bak"] {
        try mounted.sh("rm -r $S; cp -a $W/good $S; echo x > $S/\(file)")
        let outcome = try mounted.outcome("\(mount)")
        #expect(outcome.code == 0, "\(file): \(outcome.errors)")
        #expect(outcome.errors.contains("conf"), "\(file): \(outcome.errors)")
        try mounted.sh("albumfs umount $M")
      }
    }
  }

  @Test func mountPoints() throws {
    try withStore { mounted in
      let mount = "albumfs mount --password-file $P $S"
      try expect(mounted, 10, "does not exist", of: "\(mount) $W/nowhere/inner")
      try expect(mounted, 10, "not a directory", of: "\(mount) $P")
      try mounted.sh("mkdir $W/full; touch $W/full/file")
      try expect(mounted, 10, "not empty", of: "\(mount) $W/full")
      try mounted.sh("mkdir $S/inside")
      try expect(mounted, 10, "in the store", of: "\(mount) $S/inside")
      try mounted.sh("rmdir $S/inside; mkdir $W/outer; ln -s $S $W/link")
      try mounted.mount()
      try expect(mounted, 10, "mounted there already", of: "\(mount) $M")
      try expect(
        mounted, 40, "already mounted on \(mounted.mountPoint) (process", of: "\(mount) $W/outer")
      try expect(mounted, 40, of: "albumfs mount --password-file $P $W/link $W/outer")
      try expect(mounted, 1, of: "\(mount) $W/outer -o nonsense")
      try mounted.unmount()
    }
  }

  @Test func commandsThatNeedAMount() throws {
    try withStore { mounted in
      for command in ["umount $M", "status $M", "sync /", "thumbs $W", "tidy $W", "tidy $M/../.."] {
        try expect(mounted, 41, "mounted", of: "albumfs \(command)")
      }
      try expect(mounted, 1, of: "albumfs nonsense")
      try expect(mounted, 1, of: "albumfs umount")
      try mounted.sh("albumfs --help | grep -q mount; albumfs --version | grep -q '[0-9]'")
    }
  }

  @Test func aMissingThumbnailerIsReportedAndNothingElseHappens() throws {
    try withStore { mounted in
      try mounted.makePictures()
      let outcome = try mounted.outcome("\(mount) --thumbnailer /nowhere")
      #expect(outcome.code == 0)
      #expect(outcome.errors.contains("thumbnailer"))
      try mounted.sh(
        """
        mkdir $M/A; cp $W/pictures/* $M/A/Photo/; ! albumfs sync $M
        diff -r $W/pictures $M/A/Photo; test -z "$(ls $M/A/Thumb)"; albumfs umount $M
        """)
      try mounted.mount()
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A/Thumb") == mounted.sh("ls $W/pictures"))
      try mounted.unmount()
    }
  }

  @Test(.enabled(if: geteuid() == 0, "needs a /dev of its own"))
  func withoutTheFuseDeviceItSaysWhatToDo() throws {
    try withStore { mounted in
      try expect(
        mounted, 19, "/dev/fuse",
        of: """
          unshare --mount bash -c 'mount -t tmpfs none /dev && mknod /dev/null c 1 3 && \(mount)'
          """)
    }
  }

  @Test func withoutFusermountAnOrdinaryUserLearnsWhatIsMissing() throws {
    let mounted = try MountedStore(as: .ordinary)
    defer { mounted.abandon() }
    try expect(
      mounted, 19, "fusermount3",
      of: "albumfs=$(command -v albumfs); PATH=/nowhere $albumfs mount --password-file $P $S $M")
  }

  @Test func limitsOfTheProcessAreRaisedOrRefusedAndNeverEndTheDaemon() throws {
    let mounted = try MountedStore(as: .ordinary)
    defer { mounted.abandon() }
    let mount = "albumfs mount --password-file $P $S $M"
    for (limit, word) in [
      ("ulimit -n 100", "100 files at once"), ("ulimit -f 100", "102400 bytes"),
    ] {
      let refused = try mounted.outcome("\(limit); \(mount)")
      #expect(refused.code == 11 && refused.errors.contains(word), "\(refused.errors)")
    }
    try mounted.sh(
      """
      (ulimit -Sn 40 -Sf 100; \(mount))
      mkdir $M/A; for i in $(seq 60); do head -c 200000 /dev/urandom > $M/A/Photo/$i; done
      (for i in $(seq 60); do eval "exec {fd}< $M/A/Photo/$i"; done); before=$(cat $M/A/Photo/* | cksum)
      albumfs umount $M; \(mount)
      test "$(cat $M/A/Photo/* | cksum)" = "$before"; albumfs umount $M
      """)
  }

  @Test func moreChaffThanTheDiskHoldsIsRefusedAndLeavesNothing() throws {
    let mounted = try MountedStore(as: .ordinary)
    defer { mounted.abandon() }
    let refused = try mounted.outcome(
      "albumfs init --kdf moderate --chaff 99999T --password-file $P $W/large")
    #expect(refused.code == 43 && refused.errors.contains("are reserved for the spaces"))
    try mounted.sh("test ! -e $W/large")
  }

  @Test func namesOfFailedPhotosCannotCommandTheTerminal() throws {
    try MountedStore.use { mounted in
      let status = try mounted.sh(
        #"""
        mkdir $M/A; printf '\377\330\377\340abc' > "$M/A/Photo/$(printf 'x\033]0;y\007.jpg')"
        albumfs sync $M; albumfs status $M
        """#)
      #expect(status.contains(#"x\u{1B}]0;y\u{07}.jpg: "#), "\(status)")
    }
  }

  @Test func longNamesAreRefusedAndLongestOnesKept() throws {
    try MountedStore.use { mounted in
      try mounted.python(
        """
        os.mkdir(M + "/A")
        longest = "n" * 255
        fails(errno.ENAMETOOLONG, os.mkdir, f"{M}/{longest}n")
        fails(errno.ENAMETOOLONG, put, f"{M}/A/Photo/{longest}n")
        fails(errno.ENAMETOOLONG, os.rename, f"{M}/A", f"{M}/{longest}n")
        put(f"{M}/A/Photo/{longest}"); os.mkdir(f"{M}/{longest}")
        """)
      try mounted.remount()
      #expect(try mounted.sh("ls $M $M/A/Photo | grep -c nnn") == "2")
    }
  }

  @Test(.enabled(if: geteuid() == 0, "mounts a small file system to fill"))
  func aFullDiskIsToldAndWhatWasKeptIsWhole() throws {
    // Chaff of a random amount would sometimes take half of the disk.
    try withStore(initOptions: ["--chaff 0"]) { mounted in
      try mounted.sh(
        """
        mkdir $W/disk; mount -t tmpfs -o size=48m none $W/disk
        mv $S $W/disk/store; ln -s $W/disk/store $S
        """)
      defer {
        mounted.abandon()
        _ = try? mounted.sh("umount -l $W/disk")
      }
      try mounted.mount()
      let outcome = try mounted.outcome(
        """
        mkdir $M/.plain; touch $W/kept
        for number in $(seq 1000); do
          head -c 300000 /dev/urandom > $W/file
          cp $W/file $M/.plain/$number
          sync -d $M/.plain/$number
          echo "$(sha256sum < $W/file | cut -d' ' -f1)  $M/.plain/$number" >> $W/kept
        done
        """)
      #expect(outcome.code == 1)
      #expect(outcome.errors.contains("No space left on device"), "\(outcome.errors)")
      // The disk has room for 160, and a journal, checkpoints and the reserve take a part of it.
      let kept = Int(try mounted.sh("wc -l < $W/kept"))!
      let disk = try mounted.outcome(
        "df -k $W/disk; albumfs status $M; ls -l --full-time $S/segments/*/*")
      #expect(kept > 50, "\(outcome.errors)\n\(disk.output)")
      try mounted.sh("sha256sum --check --quiet $W/kept")
      _ = try mounted.outcome("albumfs umount $M")
      mounted.forget()
      // The daemon ends after the mount is gone, on a busy machine after umount has given up.
      try mounted.sh(
        "await '! albumfs list | grep -qF $M'")
      // On the full disk, existing files can still be read. With room again, everything continues.
      try mounted.mount(["--read-only"])
      try mounted.sh("sha256sum --check --quiet $W/kept")
      try mounted.unmount()
      try mounted.sh("mount -o remount,size=200m $W/disk")
      try mounted.mount()
      try mounted.sh(
        "sha256sum --check --quiet $W/kept; cp $W/file $M/.plain/more; sync $M/.plain/more")
      try mounted.remount()
      try mounted.sh("sha256sum --check --quiet $W/kept; cmp $W/file $M/.plain/more")
      try mounted.unmount()
    }
  }

  @Test func nothingOutsideTheStoreIsTouchedThroughIt() throws {
    try withStore { mounted in
      try mounted.mount()
      try mounted.sh("head -c 3000000 /dev/urandom > $M/file; sha256sum < $M/file > $W/sum")
      try mounted.unmount()
      // A user who may write to the store puts links into it.
      try mounted.sh(
        """
        mkdir $W/outside; mv $S/keys $W/outside/keys; ln -s $W/outside/keys $S/keys
        sha256sum $W/outside/* > $W/outside-sums
        """)
      let outcome = try mounted.outcome(mount)
      #expect(outcome.code != 0, "a link in place of keys is followed")
      try mounted.sh("rm $S/keys; cp $W/outside/keys $S/keys")
      try mounted.sh(
        """
        for segment in $S/segments/*/*; do
          mv $segment $W/outside/; ln -s $W/outside/${segment##*/} $segment
        done
        sha256sum $W/outside/* > $W/outside-sums
        """)
      if try mounted.outcome(mount).code == 0 {
        _ = try mounted.outcome("echo x > $M/new; albumfs umount $M")
      }
      try mounted.sh("sha256sum --check --quiet --strict $W/outside-sums")
    }
  }

  @Test func aDamagedSegmentCostsTheFilesInItAndNothingElse() throws {
    try withStore { mounted in
      try mounted.mount()
      try mounted.python(
        """
        random.seed(4)
        os.mkdir(M + "/.plain")
        for number in range(60): put(f"{M}/.plain/{number}", random.Random(number).randbytes(100_000))
        """)
      try mounted.remount()
      try mounted.unmount()
      // Flips one byte of each segment in turn. No read ever returns wrong bytes.
      try mounted.sh("cp -a $S $W/good")
      let segments = Int(try mounted.sh("ls $S/segments/*/* | wc -l"))!
      for number in 0..<min(segments, 8) {
        try mounted.sh("rm -r $S; cp -a $W/good $S")
        try mounted.python(
          """
          import glob
          path = sorted(glob.glob(S + "/segments/*/*"))[\(number)]
          with open(path, "r+b") as file:
              for at in 3000, 300_000, 700_000:
                  file.seek(at); byte = file.read(1)[0]; file.seek(at); file.write(bytes([byte ^ 1]))
          """)
        guard try mounted.outcome(mount).code == 0 else { continue }
        try mounted.python(
          """
          lost = 0
          for name in os.listdir(M + "/.plain"):
              try: assert get(f"{M}/.plain/{name}") == random.Random(int(name)).randbytes(100_000), name
              except OSError as error:
                  assert error.errno == errno.EIO, error
                  lost += 1
          assert lost <= 6, lost
          """)
        try mounted.sh("albumfs umount $M")
      }
    }
  }
}
