import AlbumTestSupport
import Foundation
import Testing

/// Everything that was put into a space is there after the next mount, however the last one ended.
@Suite(.serialized) struct DurabilityTests {
  /// Describes everything that a person can see of a tree: for each entry its content, times, mode, owner,
  /// links and extended attributes.
  private func description(_ mounted: MountedStore, of folder: String = "") throws -> Set<String> {
    let output = try mounted.python(
      Self.describe + "print('\\n'.join(describe(M + '\(folder)')))")
    return Set(output.split(separator: "\n").map(String.init))
  }

  private static let describe = """
    def describe(top):
        for folder, names, files in os.walk(top):
            names.sort()
            for name in [""] + sorted(files) + [n for n in names if os.path.islink(folder + "/" + n)]:
                path = os.path.join(folder, name)
                s = os.lstat(path)
                told = [os.path.relpath(path, top), oct(s.st_mode), s.st_uid, s.st_gid, s.st_mtime_ns]
                if stat.S_ISLNK(s.st_mode): told += [os.readlink(path)]
                else: told += [(x, os.getxattr(path, x)) for x in sorted(os.listxattr(path))]
                if stat.S_ISREG(s.st_mode):
                    told += [s.st_nlink, s.st_ino, s.st_size, hashlib.sha256(get(path)).hexdigest()]
                yield repr(told)

    """

  @Test func everythingIsThereAfterTheNextMount() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("cp -r $W/pictures $M/Trip; mkdir $M/Trip/Inner $M/.plain")
      try mounted.python(
        """
        random.seed(7)
        put(M + "/.plain/big", random.randbytes(5_000_001))
        put(M + "/.plain/mode"); os.chmod(M + "/.plain/mode", 0o4751)
        put(M + "/.plain/empty", b"")
        os.link(M + "/.plain/big", M + "/Trip/hard link")
        os.symlink("../nowhere/at all", M + "/Trip/link")
        os.symlink("x" * 4095, M + "/.plain/long link")
        os.utime(M + "/Trip/link", ns=(1, 12345678901234567), follow_symlinks=False)
        os.utime(M + "/.plain/mode", ns=(987654321987654321, 1234567890123456789))
        os.utime(M + "/.plain/empty", ns=(-1_500_000_000, -2_000_000_001))
        os.setxattr(M + "/.plain/mode", "user.note", bytes(range(256)))
        os.setxattr(M + "/Trip", "user.note", b"album")
        os.mkfifo(M + "/.plain/fifo")
        with open(M + "/.plain/sparse", "wb") as file:
            file.truncate(1 << 33); file.seek(1 << 32); file.write(b"middle"); file.truncate(1 << 20)
        put(M + "/.plain/" + "n" * 255)
        put(os.fsencode(M) + b"/.plain/\\xff\\xfe not utf-8")
        os.utime(M + "/Trip/Inner", ns=(5, 6))
        """)
      try mounted.sync()
      let before = try description(mounted)
      try mounted.remount()
      #expect(try description(mounted).symmetricDifference(before) == [])
      try mounted.remount(["--read-only"])
      #expect(try description(mounted).symmetricDifference(before) == [])
      #expect(try mounted.outcome("touch $M/x").errors.contains("Read-only file system"))
    }
  }

  /// A store cannot show that it was replaced by an old state of itself. The record on the machine can.
  @Test func aStoreThatIsOlderThanWhatWasSeenIsNamed() throws {
    try MountedStore.use(delays: "history=0.2") { mounted in
      try mounted.unmount()
      let mount = "XDG_STATE_HOME=$W/state albumfs mount --remember --password-file $P $S $M"
      try mounted.sh("\(mount) && touch $M/first && albumfs umount -q $M && cp -a $S $W/old")
      try mounted.sh("\(mount) && touch $M/second && albumfs umount -q $M")
      #expect(try !mounted.outcome("\(mount) && albumfs umount -q $M").errors.contains("older"))

      try mounted.sh("rm -r $S && mv $W/old $S")
      let outcome = try mounted.outcome("\(mount) && albumfs umount -q $M")
      #expect(outcome.code == 0)
      #expect(outcome.errors.contains("This store is older than what was seen of it here"))
      #expect(try mounted.sh("stat -c %a $W/state/albumfs").contains("700"))

      // A record that cannot be read is named at each mount, until somebody removes it.
      for record in ["head -c 40 /dev/urandom >", "mkdir", "head -c 4000 /dev/zero >"] {
        try mounted.sh("cd $W/state/albumfs; f=$(ls); rm -r $f; \(record) $f")
        let outcome = try mounted.outcome("\(mount) && touch $M/x && albumfs umount -q $M")
        #expect(outcome.code == 0 && outcome.errors.contains("is not known"), "\(outcome)")
      }

      // A killed session counts as far as it is on disk.
      try mounted.sh("rm -r $W/state; \(mount) && albumfs umount -q $M")
      try mounted.sh("cp -a $S $W/old; cat $W/state/albumfs/* > $W/noted")
      try mounted.sh("\(mount) && touch $M/third")
      try mounted.sh("await '[ \"$(cat $W/state/albumfs/*)\" != \"$(cat $W/noted)\" ]'")
      try mounted.sh("kill -9 $(albumfs status $M | sed -n 's/.*(process \\([0-9]*\\)).*/\\1/p')")
      try mounted.sh("albumfs umount -q $M; rm -r $S && mv $W/old $S")
      #expect(try mounted.outcome("\(mount) && albumfs umount -q $M").errors.contains("older"))
    }
  }

  /// A thread of the daemon that waits in the kernel for pages of a file cannot end when the daemon is
  /// killed, because no other process delivers them. The next `umount` or `mount` releases it and all other
  /// waiting threads.
  @Test func aDaemonThatIsKilledWhileItWaitsForPagesHoldsNobodyForEver() throws {
    try MountedStore.use { mounted in
      let pid = mounted.daemon
      mounted.forget()
      let outcome = try mounted.outcome(
        """
        cat > $W/writer.py <<'END'
        import mmap, os, sys
        try:
            file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
            os.truncate(file, 8 << 20)
            pages = mmap.mmap(file, 8 << 20)
            while True:
                for place in range(0, 8 << 20, 4096): pages[place] = 1
                os.lseek(file, 0, os.SEEK_DATA)
                print("wrote them all", flush=True)
        except OSError: pass
        END
        mkdir $M/.plain
        for n in 1 2 3 4; do
          timeout --kill-after=5 300 /usr/bin/python3 $W/writer.py $M/.plain/$n >$W/rounds-$n 2>&1 &
        done
        for n in 1 2 3 4; do await test -s $W/rounds-$n; done
        kill -9 \(pid)
        # Those of its threads that can end have ended.
        await '! grep -q "^State:.[RS]" /proc/\(pid)/status'
        timeout --kill-after=5 300 albumfs umount -q $M
        await ended \(pid)
        # They see an error, or are killed by it (SIGBUS).
        wait || true
        """)
      #expect(outcome.code == 0, "\(outcome)")
      try mounted.mount()
      try mounted.sh("ls $M/.plain && echo life goes on > $M/.plain/5")
    }
  }

  @Test func aReadOnlyMountAndOneThatChangesNothingWriteNothing() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("cp -r $W/pictures $M/Trip")
      try mounted.sync()
      try mounted.remount()
      try mounted.unmount()
      let listing = "find $S -type f -printf '%P %s %T@ %i\\n' | sort; sha256sum $S/keys"
      let before = try mounted.sh(listing)
      for options in [["--read-only"], []] {
        try mounted.mount(options)
        try mounted.sh("find $M -type f -exec cat {} + | sha256sum")
        try mounted.unmount()
        #expect(try mounted.sh(listing) == before, "\(options)")
      }
    }
  }

  @Test func everythingClosedSurvivesTheKillingOfAnIdleDaemon() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("cp -r $W/pictures $M/Trip")
      try mounted.python(
        """
        random.seed(8)
        os.mkdir(M + "/.plain")
        for number in range(300): put(f"{M}/.plain/{number}", random.randbytes(number * 37))
        put(M + "/.plain/big", random.randbytes(3_000_000))
        os.rename(M + "/.plain/1", M + "/.plain/renamed")
        os.remove(M + "/.plain/2")
        """)
      let before = try description(mounted, of: "/.plain")
      try mounted.kill()
      try mounted.mount()
      #expect(try description(mounted, of: "/.plain").symmetricDifference(before) == [])
      #expect(try !mounted.status().recovery.isEmpty)
      try mounted.sh(
        "for photo in $W/pictures/*; do cmp \"$photo\" $M/Trip/\"${photo##*/}\"; done")
      try mounted.sync()
      #expect(try mounted.sh("ls $M/Trip/Thumb") == mounted.sh("ls $W/pictures"))
    }
  }

  @Test(arguments: [1, 2, 3]) func everyClosedFileSurvivesAKillInTheMiddleOfACopy(_ round: Int)
    throws
  {
    try MountedStore.use { mounted in
      // The program records outside the mount which files it has closed. The kill comes in the middle.
      try mounted.sh("mkdir $M/.plain $M/Trip")
      let writer = """
        import os, random, hashlib
        random.seed(\(round))
        with open(f"{W}/closed", "w") as closed:
            for number in range(100_000):
                content = random.randbytes(random.choice([0, 10, 5000, 70_000, 500_000]))
                path = f"{M}/{'.plain' if number % 2 else 'Trip/Photo'}/{number}"
                with open(path + ".part", "wb") as file: file.write(content)
                if number % 3 == 0: os.rename(path + ".part", path)
                else: path += ".part"
                closed.write(f"{hashlib.sha256(content).hexdigest()}  {path}\\n"); closed.flush()

        """
      try mounted.write(
        Data(("W, M = '\(mounted.work)', '\(mounted.mountPoint)'\n" + writer).utf8), "writer.py")
      try mounted.sh(
        """
        /usr/bin/python3 $W/writer.py > /dev/null 2>&1 & echo $! > $W/writer
        await '[ "$(cat $W/closed | wc -l)" -ge \(20 * round) ]'
        """)
      try mounted.kill()
      try mounted.sh("await ended $(cat $W/writer)")
      try mounted.mount()
      // Closed files are there, under the names that they got since.
      let check = """
        lines = [line.split("  ") for line in open(W + "/closed").read().splitlines()]
        assert len(lines) > 5, lines
        for sum, path in lines:
            assert hashlib.sha256(get(path)).hexdigest() == sum, path
        """
      try mounted.python(check)
      // The space accepts new files as before.
      try mounted.sh("echo new > $M/.plain/new")
      try mounted.remount()
      try mounted.sh("test \"$(cat $M/.plain/new)\" = new")
      try mounted.python(check)
    }
  }

  @Test func theDeadMountPointOfAKilledDaemonIsClearedByTheNextMount() throws {
    try MountedStore.use { mounted in
      try mounted.sh("echo x > $M/x")
      try mounted.kill()
      #expect(try mounted.outcome("ls $M").errors.contains("not connected"))
      #expect(try mounted.sh("albumfs list | grep $M").contains("dead"))
      try mounted.mount()
      #expect(try mounted.sh("cat $M/x") == "x")
    }
  }

  @Test(arguments: MountedStore.Person.allCases)
  func theDeadMountPointOfAKilledDaemonIsClearedByUmount(_ person: MountedStore.Person) throws {
    try MountedStore.use(as: person) { mounted in
      try mounted.kill()
      try mounted.sh("albumfs umount $M; ls $M; test -z \"$(albumfs list | grep $M)\"")
    }
  }

  @Test(arguments: MountedStore.Person.allCases)
  func theDaemonEndsCleanlyHoweverItIsAsked(_ person: MountedStore.Person) throws {
    let ends = [
      "kill -TERM $daemon", "kill -INT $daemon", "fusermount3 -u $M", "albumfs umount $M",
      "albumfs umount --lazy $M",
    ]
    try MountedStore.use(as: person) { mounted in
      for end in ends {
        try mounted.sh(
          """
          daemon=\(mounted.daemon); echo '\(end)' > $M/file; \(end)
          await ended $daemon
          """)
        mounted.forget()
        try mounted.mount()
        #expect(try mounted.sh("cat $M/file") == end)
        #expect(try mounted.status().recovery == [], "\(end)")
      }
    }
  }

  @Test func umountNamesTheProgramsThatKeepItBusy() throws {
    try MountedStore.use { mounted in
      let outcome = try mounted.outcome(
        """
        mkdir $M/A; sleep infinity < $M/A & sleeper=$!
        albumfs umount $M && code=0 || code=$?
        kill -9 $sleeper; wait $sleeper || true; exit $code
        """)
      #expect(outcome.code == 46)
      #expect(outcome.errors.contains("sleep ("))
      #expect(try mounted.sh("ls $M") == "A")
    }
  }
}
