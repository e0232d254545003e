import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// An attacker who can write to the store prepares it. No command hangs, nothing leads out of the store,
/// nothing grows without bound, and no file is lost without a message.
@Suite(.serialized, .timeLimit(.minutes(30))) struct PreparedStoreTests {
  /// The limit for one command, in seconds. A command that takes longer hangs.
  private let limit = "timeout --kill-after=5 300"

  /// Runs `body` with a store with some files, of which `$W/good` holds a copy at rest.
  private func withStore(_ body: (MountedStore) throws -> Void) throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.mount()
    try mounted.sh(
      """
      mkdir $M/A; for i in 1 2 3; do head -c 700000 /dev/urandom > $M/A/Photo/$i; done
      sha256sum $M/A/Photo/* > $W/sums
      """)
    try mounted.unmount()
    try mounted.sh("cp -a $S $W/good")
    try body(mounted)
  }

  private var commands: [String] {
    [
      "albumfs info $S", "albumfs check --password-file $P $S",
      "albumfs space recovery-key --password-file $P $S",
      "albumfs space password --password-file $P --new-password-file $P $S",
      "albumfs mount --password-file $P $S $M",
    ]
  }

  /// Runs a command on a prepared store. Expects it to end by itself, and to print `words` if it fails.
  private func run(
    _ command: String, in mounted: MountedStore, prepared: String, _ words: [String]
  ) throws {
    let outcome = try mounted.outcome("\(limit) \(command)")
    #expect(outcome.code != 124 && outcome.code != 137, "\(prepared): \(command) hangs")
    let said = outcome.output + outcome.errors
    #expect(!said.contains("Fatal error"), "\(prepared): \(command): \(said)")
    if outcome.code != 0, !command.contains("space password") {
      for word in words { #expect(said.contains(word), "\(prepared): \(command): \(said)") }
    }
    // A mount that succeeds serves requests and ends.
    if try mounted.outcome("mountpoint -q $M").code == 0 {
      _ = try mounted.outcome("\(limit) cat $M/A/Photo/* > /dev/null")
      let end = try mounted.outcome("\(limit) albumfs umount $M")
      #expect(end.code != 124 && end.code != 47, "\(prepared): \(end.errors)")
    }
  }

  @Test func noCommandHangsOnAFIFOWhateverItStandsFor() throws {
    try withStore { mounted in
      let places = [
        "albumfs.conf", "albumfs.conf.bak", "keys", "segments", "$(ls -d segments/* | head -1)",
        "$(ls segments/*/*)",
      ]
      for place in places {
        for command in commands {
          let prepared = "for f in \(place); do rm -r $f; mkfifo $f; done"
          try mounted.sh("rm -rf $S; cp -a $W/good $S; cd $S; \(prepared)")
          let isEverySegment = place.hasPrefix("$(ls segments")
          let words = isEverySegment && !command.contains("check") ? [] : ["a FIFO, not a"]
          try run(command, in: mounted, prepared: prepared, words)
        }
      }
      // A command that can continue names the object too.
      for place in ["albumfs.conf", "albumfs.conf.bak", "keys", "segments"] {
        try mounted.sh("rm -rf $S; cp -a $W/good $S; cd $S; rm -r \(place); mkfifo \(place)")
        let info = try mounted.outcome("albumfs info $S")
        #expect(info.code == 0 && info.errors.contains("\(place)"), "\(info.errors)")
        #expect(info.errors.contains("it is a FIFO, not a"), "\(info.errors)")
      }
      // One good conf is enough, also to write. A warning names the bad one.
      for conf in ["albumfs.conf", "albumfs.conf.bak"] {
        try mounted.sh("rm -rf $S; cp -a $W/good $S; cd $S; rm \(conf); mkfifo \(conf)")
        let mount = try mounted.outcome("\(limit) albumfs mount --password-file $P $S $M")
        #expect(mount.code == 0 && mount.errors.contains("\(conf) cannot be read"), "\(mount)")
        try mounted.sh("echo new > $M/new; \(limit) albumfs umount $M")
        let check = try mounted.outcome("\(limit) albumfs check --password-file $P $S")
        #expect(check.code == 26 && check.output.contains("\(conf) cannot be read"), "\(check)")
      }
    }
  }

  @Test func aFIFOInThePlaceOfOneSegmentCostsItsContentAlone() throws {
    try withStore { mounted in
      let segments = try mounted.outcome("cd $W/good; ls segments/*/*").output.split(
        separator: "\n")
      #expect(segments.count > 3)
      for segment in segments {
        try mounted.sh("rm -rf $S; cp -a $W/good $S; cd $S; rm \(segment); mkfifo \(segment)")
        let mount = try mounted.outcome("\(limit) albumfs mount --password-file $P $S $M")
        #expect(mount.code == 0, "\(segment): \(mount)")
        if mount.code == 0 { try mounted.sh("\(limit) albumfs umount $M") }
      }
    }
  }

  /// Another member of a shared store put it there, and lets nobody open it.
  @Test func aFIFOThatOnlyItsOwnerMayOpenCostsNoMoreThanAnother() throws {
    let mounted = try MountedStore(as: .ordinary)
    defer { mounted.abandon() }
    try mounted.mount()
    try mounted.sh(
      "mkdir $M/A; for i in 1 2 3; do head -c 700000 /dev/urandom > $M/A/Photo/$i; done")
    try mounted.unmount()
    #expect(try mounted.outcome(as: .tester, "cp -a $S $W/good").code == 0)
    let segments = try mounted.sh("cd $S; ls segments/*/*").split(separator: "\n").map(String.init)
    let confs = ["albumfs.conf", "albumfs.conf.bak"]
    for place in confs + segments {
      let prepare = "rm -rf $S; cp -a $W/good $S; cd $S; rm \(place); mkfifo -m 0 \(place)"
      #expect(try mounted.outcome(as: .tester, prepare).code == 0)
      let mount = try mounted.outcome("\(limit) albumfs mount --password-file $P $S $M")
      #expect(mount.code == 0, "\(place): \(mount)")
      if confs.contains(place) {
        #expect(mount.errors.contains("a FIFO, not a file"), "\(place): \(mount)")
        try mounted.sh("cat $M/A/Photo/* > $W/read; echo new > $M/A/Photo/new")
      }
      if mount.code == 0 { try mounted.sh("\(limit) albumfs umount $M") }
    }
  }

  @Test func linksSocketsDevicesAndDirectoriesAreNamedAndNotFollowed() throws {
    try withStore { mounted in
      try mounted.sh("mkdir $W/outside; cp -a $W/good/. $W/outside/")
      var kinds = [
        ("ln -s $W/outside/$f $f", "a symbolic link"), ("mkdir $f", "a directory"),
        (
          "/usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $f",
          "a socket"
        ),
      ]
      if geteuid() == 0 { kinds.append(("mknod $f c 1 5", "a device")) }
      for (make, words) in kinds {
        for place in ["keys", "$(ls segments/*/* | head -1)"] {
          try mounted.sh(
            "rm -rf $S; cp -a $W/good $S; cd $S; for f in \(place); do rm -r $f; \(make); done")
          for command in commands where !command.contains("info") {
            // A command that continues names the object in a warning.
            try run(command, in: mounted, prepared: make, [words])
          }
        }
      }
      for place in ["segments", "$(ls -d segments/* | head -1)"] {
        try mounted.sh(
          "rm -rf $S; cp -a $W/good $S; cd $S; for f in \(place); do rm -r $f; ln -s $W/outside/$f $f; done"
        )
        for command in commands {
          try run(
            command, in: mounted, prepared: "a link for \(place)",
            ["a symbolic link, not a directory"])
        }
      }
      try mounted.sh("diff -r $W/good $W/outside")
    }
  }

  @Test func aDaemonThatMeetsAFIFOServesTheRestAndUnmounts() throws {
    try withStore { mounted in
      try mounted.mount()
      try mounted.sh("cd $S; for f in segments/*/*; do mv $f $W/; mkfifo $f; done")
      // Content that is no longer in the kernel's cache cannot be read. No read waits.
      let read = try mounted.outcome("\(limit) cat $M/A/Photo/1 | cmp - <(cat $W/good/keys)")
      #expect(read.code != 124)
      let daemon = mounted.daemon
      mounted.forget()
      #expect(Glibc.kill(daemon, SIGTERM) == 0)
      try mounted.sh("await ended \(daemon)")
    }
  }

  @Test func aFolderThatIsExchangedWhileMountedCostsNoFileThatIsWrittenThen() throws {
    let exchanges = [
      "mv $d $W/gone/${d##*/}; ln -s $W/gone/${d##*/} $d", "mv $d $W/gone/${d##*/}; mkdir $d",
      "mv $d $W/gone/${d##*/}", "mv $d $W/gone/${d##*/}; mkfifo $d",
    ]
    for exchange in exchanges {
      try withStore { mounted in
        try mounted.mount()
        try mounted.sh("echo before > $M/A/Photo/before; mkdir $W/gone")
        try mounted.sh("for d in $S/segments/*; do \(exchange); done")
        let outcome = try mounted.outcome(
          """
          head -c 300000 /dev/urandom > $M/A/Photo/after; sha256sum $M/A/Photo/after > $W/new
          \(limit) albumfs sync $M; \(limit) albumfs umount $M
          """)
        // If new segments find such an object in the place of their folder again and again, the writer gets
        // an error. albumfs makes a missing folder anew.
        if outcome.code != 0 {
          #expect(outcome.code != 124 && !outcome.errors.isEmpty, "\(exchange): \(outcome)")
          if exchange.contains("ln -s") || exchange.contains("mkfifo") { return }
          // The folder of the newest journal segment is gone: the daemon turns read-only and says why.
          let status = try mounted.outcome("albumfs status $M")
          #expect(status.output.contains("replaced or moved away"), "\(exchange): \(outcome)")
          return
        }
        #expect(outcome.code == 0, "\(exchange): \(outcome.errors)")
        mounted.forget()
        // The attacker keeps the folder. What was written afterwards is there all the same.
        try mounted.sh(
          "for d in $S/segments/*; do if [ -L $d ] || [ -p $d ]; then rm $d; fi; done")
        try mounted.mount()
        try mounted.sh("sha256sum --check --quiet $W/new")
        #expect(try mounted.sh("cat $M/A/Photo/before") == "before", "\(exchange)")
        try mounted.unmount()
      }
    }
  }

  @Test func aWriteThatCannotBeStoredIsAnErrorToTheWriter() throws {
    try withStore { mounted in
      try mounted.mount()
      try mounted.sh("mv $S/segments $W/gone; echo > $S/segments")
      let outcome = try mounted.outcome(
        "\(limit) dd if=/dev/urandom of=$M/A/Photo/lost bs=100k count=2 conv=fsync")
      #expect(outcome.code == 1, "\(outcome.errors)")
      #expect(outcome.errors.contains("Input/output") || outcome.errors.contains("Read-only"))
      let status = try mounted.status()
      #expect(status.readOnly && status.readOnlyReason != nil)
      let end = try mounted.outcome("\(limit) albumfs umount $M")
      #expect(end.code != 0 && end.code != 124, "\(end.errors)")
      #expect(end.errors.contains("not everything"), "\(end.errors)")
      mounted.forget()
      // All earlier content is whole.
      try mounted.sh("rm $S/segments; mv $W/gone $S/segments")
      try mounted.mount()
      try mounted.sh("sha256sum --check --quiet $W/sums")
      try mounted.unmount()
    }
  }

  /// The housekeeping thread looks at short files in a session that writes.
  private let quick = "housekeeping=0.1"
  private let use = "use() { echo $RANDOM > $M/A/Photo/4; sync $M/A/Photo/4; }"

  private let strangers = """
    import glob
    folder = S + "/segments/"
    for number in range(5000):
        name = random.Random(number).randbytes(16).hex()
        os.makedirs(folder + name[:2], exist_ok=True)
        path = folder + name[:2] + "/" + name
        put(path, b""); os.utime(path, (1_000_000_000, 1_000_000_000))
    """

  @Test func thousandsOfShortFilesGrowTheStoreByAFewSegmentsAndAreOneNote() throws {
    try withStore { mounted in
      try mounted.python(strangers)
      mounted.delays = quick
      try mounted.mount()
      // The housekeeping thread says so when it has filled up as many as it may.
      try mounted.sh(
        """
        \(use)
        await 'use && albumfs status --verbose $M | grep -q "more short files than a power cut leaves"'
        """)
      try mounted.unmount()
      let filled = try mounted.python(
        """
        names = [random.Random(number).randbytes(16).hex() for number in range(5000)]
        print(sum(os.path.getsize(f"{S}/segments/{name[:2]}/{name}") > 0 for name in names))
        """)
      let count = try #require(Int(filled))
      #expect((1...16).contains(count), "the bound, and that it is done at all")
      let check = try mounted.outcome("\(limit) albumfs check --password-file $P $S")
      #expect(check.code == 0, "\(check.errors)")
      let notes = (check.output + check.errors).split(separator: "\n").filter {
        $0.contains("shorter than a segment")
      }
      #expect(notes.count == 1 && notes.allSatisfy { $0.contains("\(5000 - count)") }, "\(notes)")
    }
  }

  @Test func aFileOutsideThatIsLinkedIntoTheStoreIsNotFilledUp() throws {
    try withStore { mounted in
      try mounted.python(
        """
        put(W + "/mine", b"mine"); os.utime(W + "/mine", (1_000_000_000, 1_000_000_000))
        os.makedirs(S + "/segments/ab", exist_ok=True)
        os.link(W + "/mine", S + "/segments/ab/ab" + "0" * 30)
        for digit in "123456789abcdef":
            path = S + "/segments/ab/ab" + digit * 30
            put(path, b""); os.utime(path, (1, 1))
        """)
      mounted.delays = quick
      try mounted.mount()
      // It looks at the files in any order, so that this one is hardly the last.
      try mounted.sh(
        """
        \(use)
        await 'use && test -z "$(find $S/segments -type f -empty)"'
        """)
      try mounted.unmount()
      #expect(try mounted.sh("cat $W/mine") == "mine")
    }
  }

  @Test func aLockThatIsNeverReleasedDoesNotHangACommand() throws {
    try withStore { mounted in
      mounted.delays = "lock=1"
      let outcome = try mounted.outcome(
        """
        /usr/bin/python3 -c 'import fcntl, os, signal, struct, sys
        fd = os.open(sys.argv[1], os.O_RDWR)
        fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
        print("held", file=open(sys.argv[2], "w"), flush=True); signal.pause()' $S/albumfs.conf $W/held &
        trap "kill -9 $!" EXIT
        await test -s $W/held
        printf 'other' > $W/other
        timeout 150 albumfs space add --password-file $W/other $S
        """)
      #expect(outcome.code == 40, "\(outcome.errors)")
      #expect(outcome.errors.contains("changing the store"), "\(outcome.errors)")
    }
  }

  @Test(.enabled(if: geteuid() == 0, "mounts a small file system to fill"))
  func shortFilesDoNotFillASmallDisk() throws {
    try withStore { mounted in
      try mounted.sh("mkdir $W/disk; mount -t tmpfs -o size=60m none $W/disk; cp -a $S $W/disk/s")
      defer {
        mounted.abandon()
        _ = try? mounted.sh("umount -l $W/disk")
      }
      try mounted.sh("rm -r $S; ln -s $W/disk/s $S")
      try mounted.python(strangers)
      mounted.delays = quick
      try mounted.mount()
      try mounted.sh(
        """
        \(use)
        await 'use && albumfs status --verbose $M | grep -q "more short files than a power cut leaves"'
        """)
      try mounted.unmount()
      // A hundredth of the free room is less than a segment.
      #expect(try mounted.sh("find -L $S/segments -newermt 2000-01-01 -size 0 | wc -l") == "5000")
    }
  }
}
