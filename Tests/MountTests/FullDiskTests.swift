import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// The promises for a full disk: the writer gets an error from write, fsync or close. No other file is
/// harmed, and everything stays readable. `rm` works, and its room comes back if the space keeps no deleted
/// files. Then writing continues without a new mount.
@Suite(
  .serialized, .enabled(if: SmallDisk.isPossible, "needs root and loop devices"))
struct FullDiskTests {
  private func onSmallDisk(
    _ kind: SmallDisk.Kind = .ext4, keepsDeleted: Bool = false,
    _ body: (MountedStore, SmallDisk) throws -> Void
  ) throws {
    let disk = try SmallDisk(kind)
    defer { disk.remove() }
    try MountedStore.use(
      initOptions: ["--chaff", "0"], storeIn: disk.path, delays: "room=0,housekeeping=0.2"
    ) { mounted in
      try mounted.sh("mkdir $M/Trip")
      if !keepsDeleted { try mounted.keepNoDeletedFiles() }
      try body(mounted, disk)
    }
  }

  /// Writes files until there is no room for any, large or small. `$W/closed` lists those that were
  /// closed without an error, with their checksums, as sha256sum does.
  private static let fill = """
    def fill(folder, seed):
        random.seed(seed)
        closed = open(W + "/closed", "a")
        for size, most in [(5000, 30), (2_000_000, 10_000), (300_000, 10_000), (10, 10_000)]:
            failures = 0
            for number in range(most):
                content = random.randbytes(size)
                path = f"{folder}/{seed}-{size}-{number}"
                try: put(path, content)
                except OSError as error:
                    assert error.errno == errno.ENOSPC, error
                    failures += 1
                    if failures == 3: break
                    continue
                closed.write(f"{hashlib.sha256(content).hexdigest()}  {path}\\n")
            assert failures == 3 or size == 5000, "the disk is never full"
        closed.close()

    """

  private func fill(_ mounted: MountedStore, seed: Int = 1) throws {
    try mounted.python(Self.fill + "fill(M + '/Trip/Photo', \(seed))")
  }

  /// Expects every file that was closed without an error to have its content, and every file to be readable.
  private func expectIntact(_ mounted: MountedStore, _ when: String) throws {
    let outcome = try mounted.outcome(
      "sha256sum --quiet --check $W/closed; find $M -type f -exec cat {} + | wc -c")
    #expect(
      outcome.errors + outcome.output.filter { !$0.isNumber && !$0.isNewline } == "", "\(when)")
  }

  /// Waits until a script succeeds: the promise is that this happens without a user's action, not when.
  private func becomesTrue(_ mounted: MountedStore, _ script: String) throws -> Bool {
    try eventually { try mounted.outcome(script).code == 0 }
  }

  @Test func aWriterToAFullDiskGetsAnError() throws {
    try onSmallDisk { mounted, _ in
      try mounted.write(Data(repeating: 7, count: 200_000), "some")
      try mounted.sh("echo old > $M/Trip/Photo/old")
      try fill(mounted)
      let tools = [
        "cp": "cp $W/some $M/Trip/Photo/cp",
        "mv": "cp $W/some $W/moving; mv $W/moving $M/Trip/Photo/mv",
        "dd": "dd if=$W/some of=$M/Trip/Photo/dd conv=fsync status=none",
        "rsync": "rsync $W/some $M/Trip/Photo/rsync",
        "tar": "tar -C $W -cf - some | tar -C $M/Trip/Photo -xf -",
        "tee": "tee $M/Trip/Photo/tee < $W/some > /dev/null",
        "appending": "cat $W/some >> $M/Trip/Photo/old",
        "echo": "/bin/echo hi > $M/Trip/Photo/echo",
        // The shell closes the file by dup2, which reports no error, so write must.
        "the shell's own echo": "echo hi > $M/Trip/Photo/echo2",
        "the shell's own echo, appending": "echo hi >> $M/Trip/Photo/old",
      ]
      for (tool, script) in tools.sorted(by: { $0.key < $1.key }) {
        let outcome = try mounted.outcome(script)
        #expect(outcome.code != 0, "\(tool) was not told")
        #expect(outcome.errors.contains("No space left on device"), "\(tool): \(outcome.errors)")
      }
      // A failed move has removed nothing, and the former content is unchanged.
      try mounted.sh("cmp $W/some $W/moving")
      try expectIntact(mounted, "after all of them")
      try mounted.remount()
      #expect(try mounted.sh("head -n1 $M/Trip/Photo/old") == "old")
    }
  }

  @Test(arguments: [SmallDisk.Kind.ext4, .tmpfs])
  func aFullDiskHarmsNothingAndRemovedFilesMakeRoom(_ kind: SmallDisk.Kind) throws {
    try onSmallDisk(kind) { mounted, _ in
      try fill(mounted)
      try expectIntact(mounted, "on the full disk")
      #expect(try mounted.status().shortage != nil)
      #expect(try mounted.sh("albumfs status $M").contains("full"))
      // Names and times can still be changed, and files removed.
      try mounted.sh(
        """
        mkdir $M/Other; mv $M/Trip/Photo/1-5000-0 $M/Other/; touch -d 2001-02-03 $M/Other/1-5000-0
        sed -i 's/Trip.Photo.1-5000-0$/Other\\/1-5000-0/' $W/closed
        rm $M/Trip/Photo/1-2000000-*
        sed -i '/1-2000000-/d' $W/closed
        """)
      try expectIntact(mounted, "after removing the large ones")
      #expect(
        try becomesTrue(
          mounted, "head -c 5M /dev/zero > $W/zeros; cp $W/zeros $M/Trip/Photo/zeros"),
        "no room after files were removed")
      #expect(try !mounted.status().readOnly)
      try fill(mounted, seed: 2)
      try expectIntact(mounted, "filled again")
      try mounted.remount()
      #expect(try mounted.status().recovery == [])
      try expectIntact(mounted, "after a remount on the full disk")
      try mounted.sh("cmp $W/zeros $M/Trip/Photo/zeros; rm -r $M/Trip $M/Other")
      #expect(try becomesTrue(mounted, "mkdir -p $M/New; cp $W/zeros $M/New/zeros"))
      #expect(try mounted.status().shortage == nil)
    }
  }

  /// Removed files stay for the guaranteed days. `rm` works all the same, and a purge makes room.
  @Test func onAFullDiskRemovedFilesStayUntilTheyArePurged() throws {
    try onSmallDisk(keepsDeleted: true) { mounted, _ in
      try fill(mounted)
      try mounted.sh(
        """
        find $M/Trip/Photo -name '1-2000000-*' -size +0 | wc -l > $W/count
        rm $M/Trip/Photo/1-2000000-*; sed -i '/1-2000000-/d' $W/closed
        test $(albumfs deleted list $M | wc -l) = $(cat $W/count)
        head -c 5M /dev/zero > $W/zeros; ! cp $W/zeros $M/Trip/Photo/zeros 2> $W/said
        grep -q 'No space left' $W/said; albumfs status $M | grep -q 'albumfs deleted purge'
        test $(albumfs deleted list $M | wc -l) = $(cat $W/count)
        """)
      try expectIntact(mounted, "after rm")
      try mounted.remount()
      try mounted.sh("albumfs deleted purge -q $M --all --password-file $P")
      #expect(try becomesTrue(mounted, "cp $W/zeros $M/Trip/Photo/zeros"))
      try expectIntact(mounted, "after the purge")
      try mounted.remount()
      try mounted.sh("cmp $W/zeros $M/Trip/Photo/zeros")
      try expectIntact(mounted, "in the end")
    }
  }

  @Test func aDiskThatAnotherProgramFillsToTheLastByteHarmsNothing() throws {
    try onSmallDisk { mounted, disk in
      try mounted.python(
        """
        random.seed(3)
        with open(W + "/closed", "w") as closed:
            for number in range(200):
                content = random.randbytes(number * 301)
                path = f"{M}/Trip/Photo/{number}"
                put(path, content)
                closed.write(f"{hashlib.sha256(content).hexdigest()}  {path}\\n")
        """)
      try disk.fill()
      // A segment that albumfs has begun takes some more bytes. In the end the writer gets the error.
      try fill(mounted, seed: 2)
      try expectIntact(mounted, "with no byte left")
      try mounted.sh("rm $M/Trip/Photo/1?; sed -i '/Photo.1.$/d' $W/closed")
      #expect(try mounted.sh("ls $M/Trip/Photo").split(separator: "\n").contains("11") == false)
      try disk.free()
      #expect(try becomesTrue(mounted, "cp $W/closed $M/Trip/Photo/again"))
      #expect(try mounted.status().shortage == nil)
      #expect(try !mounted.status().readOnly)
      try mounted.sync()
      try expectIntact(mounted, "after room was made")
      try mounted.remount()
      #expect(try mounted.status().recovery == [])
      try expectIntact(mounted, "after a remount")
      try mounted.sh("cmp $W/closed $M/Trip/Photo/again")
    }
  }

  /// Bytes that the kernel accepted and albumfs could not store are not shown, and no zeros in their place.
  @Test func afterAFailedCloseAFileIsReadAsItIsStored() throws {
    try onSmallDisk { mounted, _ in
      try mounted.sh(
        "head -c 300K /dev/urandom > $M/Trip/Photo/old; ln $M/Trip/Photo/old $M/Trip/twin")
      try mounted.sync()
      try mounted.python(
        """
        files = [open(M + "/Trip/Photo/old", "r+b", 0), open(M + "/Trip/Photo/new", "wb", 0)]
        filler = os.path.dirname(S) + "/filler"
        subprocess.run(["sh", "-c", f"cat /dev/zero > {filler}; sync -f {filler}"], stderr=subprocess.DEVNULL)
        random.seed(6)
        def fail(file):
            try:
                file.seek(100_000)
                for _ in range(40): file.write(random.randbytes(777_777))
                file.close()
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
                try: file.close()
                except OSError as error: assert error.errno == errno.ENOSPC, error
            else: raise AssertionError("the disk is never full")
        for file in files: fail(file)
        """)
      // Compares the kernel's pages and size with those of albumfs.
      let isAsStored = """
        for name in ("Photo/old", "Photo/new", "twin"):
            path = f"{M}/Trip/{name}"
            direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
            stored = b""
            while part := os.pread(direct, 1 << 20, len(stored)): stored += part
            os.close(direct)
            assert get(path) == stored and os.stat(path).st_size == len(stored), name
        """
      var failure: (any Error)?
      let isShown = eventually {
        do { try mounted.python(isAsStored) } catch {
          failure = error
          return false
        }
        return true
      }
      #expect(isShown, "\(String(describing: failure))")
      let sums = try mounted.sh("cd $M/Trip; sha256sum Photo/* twin")
      try mounted.remount()
      #expect(try mounted.sh("cd $M/Trip; sha256sum Photo/* twin") == sums)
    }
  }

  /// Shared memory works on a disk that is nearly full: sqlite in WAL mode needs it.
  @Test func memoryIsSharedOnADiskThatIsNearlyFull() throws {
    try onSmallDisk { mounted, disk in
      try mounted.sh("echo small > $M/Trip/Photo/small")
      try fillNearly(mounted, disk)
      try mounted.python(
        """
        import sqlite3
        database = sqlite3.connect(M + "/.db", isolation_level=None)
        assert database.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
        database.execute("CREATE TABLE t (n INTEGER, b BLOB)")
        for n in range(20): database.execute("INSERT INTO t VALUES (?, ?)", (n, bytes([n]) * 5000))
        other = sqlite3.connect(M + "/.db")
        assert [row[0] for row in other.execute("SELECT n FROM t ORDER BY n")] == list(range(20))
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        other.close(); database.close()
        fd = os.open(M + "/.map", os.O_CREAT | os.O_RDWR); os.ftruncate(fd, 10_000)
        with mmap.mmap(fd, 10_000) as memory: memory[5000:5005] = b"hello"; memory.flush()
        os.close(fd); assert get(M + "/.map") == bytes(5000) + b"hello" + bytes(4995)
        """)
      try mounted.remount()
      try mounted.python(
        """
        import sqlite3
        assert sqlite3.connect(M + "/.db").execute("SELECT sum(length(b)) FROM t").fetchone() == (100_000,)
        assert get(M + "/.map")[5000:5005] == b"hello"
        """)
    }
  }

  /// The kernel shows the new time when it has forgotten the file; after a mount at the latest.
  @Test func aFileThatIsChangedOnADiskThatIsNearlyFullHasANewTime() throws {
    try onSmallDisk { mounted, disk in
      try mounted.sh("echo before > $M/Trip/Photo/note; touch -d 2020-01-01 $M/Trip/Photo/note")
      try fillNearly(mounted, disk)
      try mounted.sh("printf after! | dd of=$M/Trip/Photo/note conv=notrunc status=none")
      try mounted.remount()
      #expect(try mounted.sh("cat $M/Trip/Photo/note") == "after!")
      #expect(try mounted.sh("find $M/Trip/Photo/note -newermt 2021-01-01") != "")
    }
  }

  /// Leaves less than twice what is kept for checkpoints (4 segments), and more than that.
  private func fillNearly(_ mounted: MountedStore, _ disk: SmallDisk) throws {
    try mounted.sync()
    let filler = try disk.available() - 31 << 18
    try mounted.sh("fallocate -l \(filler) \(disk.path)/filler; sync -f \(disk.path)")
    #expect((4 << 20..<8 << 20).contains(try disk.available()))
  }

  @Test func aSpaceCanBeMountedAndUnmountedWithNoByteLeft() throws {
    try onSmallDisk { mounted, disk in
      try fill(mounted)
      try disk.fill()
      try mounted.sh("rm $M/Trip/Photo/1-5000-0; sed -i '/-5000-0$/d' $W/closed")
      try mounted.remount()
      #expect(try mounted.status().recovery == [])
      #expect(try mounted.outcome("cat $M/Trip/Photo/1-5000-0").code != 0, "it came back")
      try expectIntact(mounted, "mounted with no byte left")
      try mounted.sh("rm $M/Trip/Photo/1-5000-1; sed -i '/-5000-1$/d' $W/closed")
      try mounted.remount()
      #expect(try mounted.outcome("cat $M/Trip/Photo/1-5000-1").code != 0, "it came back")
      try disk.free()
      try mounted.sh("rm $M/Trip/Photo/1-2000000-*; sed -i '/1-2000000-/d' $W/closed")
      #expect(try becomesTrue(mounted, "cp $W/closed $M/Trip/Photo/again"))
      try expectIntact(mounted, "in the end")
    }
  }

  @Test func aKilledDaemonComesBackOnAFullDisk() throws {
    try onSmallDisk { mounted, disk in
      try fill(mounted)
      try mounted.kill()
      try disk.fill()
      try mounted.mount()
      try expectIntact(mounted, "killed and mounted with no byte left")
      try disk.free()
      try mounted.sh("rm $M/Trip/Photo/1-2000000-*; sed -i '/1-2000000-/d' $W/closed")
      #expect(try becomesTrue(mounted, "cp $W/closed $M/Trip/Photo/again"))
      try expectIntact(mounted, "in the end")
    }
  }

  /// A store fills its disk by itself. The sessions that follow change little.
  @Test func shortSessionsOnAFullDiskEndInNoDeadEnd() throws {
    try onSmallDisk { mounted, disk in
      try fill(mounted)
      for session in 0..<10 {
        try mounted.sh(
          """
          mkdir $M/session-\(session); rm $M/Trip/Photo/1-5000-\(session)
          sed -i '/-5000-\(session)$/d' $W/closed
          """)
        // Another program leaves little room at first, and then none at all.
        if session == 5 { try disk.fill() }
        try mounted.remount()
        #expect(try mounted.status().recovery == [])
        #expect(try mounted.outcome("cat $M/Trip/Photo/1-5000-\(session)").code != 0, "it is back")
      }
      #expect(try mounted.sh("ls -d $M/session-* | wc -l") == "10")
      try expectIntact(mounted, "after short sessions")
      // Removal gives room, within the session or at its end.
      let before = try disk.available()
      try mounted.sh("rm $M/Trip/Photo/1-2000000-*; sed -i '/1-2000000-/d' $W/closed")
      try mounted.remount()
      #expect(try disk.available() > before + 8 << 20)
      try mounted.sh("head -c 4M /dev/zero > $W/zeros; cp $W/zeros $M/Trip/Photo/zeros")
      try expectIntact(mounted, "in the end")
    }
  }

  /// Two spaces of one store fill a small disk, and are unmounted, checked and mounted again at random.
  @Test func twoSpacesOnAFullDiskGoOnAndAreWhole() throws {
    let isLong = ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] != nil
    let given = ProcessInfo.processInfo.environment["ALBUMFS_CRASH_SEED"].flatMap { UInt32($0) }
    let seed = given ?? UInt32(truncatingIfNeeded: SeededRandom().seed)
    print("two spaces on a full disk: seed \(seed)")
    try onSmallDisk { mounted, disk in
      try mounted.setPassword("a second space", "second")
      try mounted.sh("albumfs space add -q --password-file $W/../second $S")
      try mounted.mount(at: mounted.secondMountPoint, password: "a second space")
      try mounted.keepNoDeletedFiles(
        at: mounted.secondMountPoint, password: "$W/../second")
      for place in 0..<(isLong ? 60 : 1) {
        try mounted.python(Self.twoSpaces + "run(\(Int(seed) + place), 5)")
      }
      try mounted.sh("albumfs status $M; albumfs status '\(mounted.secondMountPoint)'")
    }
  }

  /// Writes, overwrites and removes at random in two mounts until the disk is full, and compares all that was
  /// closed without an error. Every unmount must succeed, every check be clean, every mount be possible.
  private static let twoSpaces = """
    POINTS, PASSWORDS = [M, M + "2"], [os.environ["P"], W + "/../second"]
    def albumfs(*arguments):
        told = subprocess.run(["albumfs", *arguments], capture_output=True, text=True)
        assert told.returncode == 0, (arguments, told.returncode, told.stdout, told.stderr)
        return told.stdout
    def change(point, files):
        name = f"{point}/.plain/{random.randrange(40)}"
        if random.random() < .2:
            if os.path.exists(name): os.unlink(name)
            files.pop(name, None)
            return
        content = random.randbytes(random.choice([10, 5000, 300_000, 2_000_000]))
        files.pop(name, None)
        try: put(name, content)
        except OSError as error:
            assert error.errno == errno.ENOSPC, error
            return
        files[name] = hashlib.sha256(content).digest()
    def compare(files, when):
        for name, digest in files.items(): assert hashlib.sha256(get(name)).digest() == digest, (when, name)
    def run(seed, rounds):
        random.seed(seed)
        all_files = [{}, {}]
        for point in POINTS: os.makedirs(point + "/.plain", exist_ok=True)
        for round in range(rounds):
            for _ in range(30):
                which = random.randrange(2)
                change(POINTS[which], all_files[which])
            away = [which for which in range(2) if random.random() < .6]
            for which in away: albumfs("umount", POINTS[which])
            for which in away:
                albumfs("check", "--password-file", PASSWORDS[which], S)
                if random.random() < .5: albumfs("check", "--password-file", PASSWORDS[which], S)
            random.shuffle(away)
            for which in away: albumfs("mount", "--password-file", PASSWORDS[which], S, POINTS[which])
            for which in range(2): compare(all_files[which], (seed, round))

    """
  /// Almost all of the disk is garbage that waits for the end of its grace.
  @Test(arguments: [SmallDisk.Kind.ext4, .tmpfs])
  func overwritingAgainAndAgainIsNeverRefused(_ kind: SmallDisk.Kind) throws {
    try onSmallDisk(kind) { mounted, _ in
      try mounted.python(
        """
        random.seed(4)
        for number in range(60):
            content = random.randbytes(4_000_000)
            put(M + "/Trip/Photo/big", content)
            put(f"{M}/Trip/Photo/small-{number}", b"a bystander's")
        assert get(M + "/Trip/Photo/big") == content
        """)
      #expect(try mounted.status().shortage == nil)
      try mounted.remount()
      #expect(try mounted.sh("ls $M/Trip/Photo/small-* | wc -l") == "60")
    }
  }

  @Test func umountReportsHowTheDaemonEnded() throws {
    try onSmallDisk { mounted, _ in
      try mounted.sh("echo kept > $M/Trip/Photo/kept")
      try mounted.remount()
      // The store cannot be written any more, and only the daemon notices.
      try mounted.sh("mv $S/segments $S/away; mkdir $M/lost")
      #expect(try eventually { try mounted.status().readOnly })
      let outcome = try mounted.outcome("albumfs umount $M")
      #expect(outcome.code == 11, "\(outcome.errors)")
      #expect(outcome.errors.contains("not everything was written"), "\(outcome.errors)")
      mounted.forget()
      try mounted.sh("mv $S/away $S/segments")
      try mounted.mount()
      #expect(try mounted.sh("cat $M/Trip/Photo/kept") == "kept")
    }
  }

  @Test func thumbnailsThatFoundNoRoomComeByThemselves() throws {
    try onSmallDisk { mounted, disk in
      try mounted.makePictures()
      try mounted.sync()
      // The photos fit into the segment that albumfs has begun. The thumbnails may not.
      try mounted.sh("head -c 600K /dev/urandom > $M/Trip/Photo/filler")
      try disk.fill()
      try mounted.sh(
        """
        for i in $(seq 50); do
          for photo in $W/pictures/*; do
            cp "$photo" "$M/Trip/Photo/$i ${photo##*/}" || exit 0
            echo "$i ${photo##*/}" >> $W/copied
          done
        done
        """)
      #expect(try mounted.sh("wc -l < $W/copied") != "0")
      try disk.free()
      let isComplete = """
        ls $M/Trip/Thumb > $W/thumbs
        while read -r photo; do grep -qxF "$photo" $W/thumbs; done < $W/copied
        """
      #expect(try becomesTrue(mounted, isComplete), "thumbnails are missing")
      #expect(try mounted.status().thumbnails.failures.isEmpty)
    }
  }

  /// The disk accepts writes and loses them. fsync reports that. From then on only data counts that was on
  /// disk.
  @Test func aDiskThatLosesWritesIsReportedAndSyncedFilesAreIntact() throws {
    try onSmallDisk(.broken) { mounted, _ in
      let told = try mounted.python(
        """
        random.seed(9)
        told = None
        with open(W + "/closed", "w") as closed:
            for number in range(2000):
                content = random.randbytes(random.choice([100, 50_000, 700_000]))
                path = f"{M}/Trip/Photo/{number}"
                try:
                    with open(path, "wb") as file:
                        file.write(content); file.flush(); os.fsync(file.fileno())
                except OSError as error:
                    told = error.errno
                    break
                closed.write(f"{hashlib.sha256(content).hexdigest()}  {path}\\n")
        print(errno.errorcode.get(told))
        """)
      // If the lost content can be written elsewhere, the writer need not get EIO until that is full.
      #expect(["EIO", "EROFS", "ENOSPC"].contains(told))
      #expect(try mounted.sh("wc -l < $W/closed") != "0")
      #expect(
        try mounted.outcome("sha256sum --quiet --check $W/closed").errors == "", "synced before")
      let status = try mounted.status()
      #expect(status.readOnlyReason != nil || status.shortage != nil, "status says nothing")
      _ = try mounted.outcome("albumfs umount --lazy $M")
      mounted.forget()
    }
  }
}
