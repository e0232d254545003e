import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// The kernel's requests come to the daemon over /dev/fuse or over io_uring. Promise: the transport makes no
/// difference except in speed, and a mount that cannot have io_uring works without it.
@Suite(.serialized) struct TransportTests {
  private static let parameter = "/sys/module/fuse/parameters/enable_uring"

  /// True if this machine's kernel offers FUSE over io_uring.
  static let isOffered =
    (try? String(contentsOfFile: parameter, encoding: .utf8))?.hasPrefix("Y") ?? false
  private static let transports = isOffered ? ["device", "uring"] : ["device"]

  /// Mounts over a transport, and expects the mount to use it.
  private func using(
    _ transport: String, as person: MountedStore.Person = .tester,
    _ body: (MountedStore) throws -> Void
  ) throws {
    try MountedStore.use(as: person, mountOptions: ["--transport", transport]) { mounted in
      #expect(try mounted.status().transport == transport)
      try body(mounted)
    }
  }

  private static let tools = """
    mkdir -p pictures/2026; cd pictures
    for n in $(seq 120); do head -c $((n * 700)) /dev/zero | tr '\\0' "$((n % 10))" > 2026/$n.raw; done
    head -c 3000000 /dev/urandom > large; cp large copy; cmp large copy
    dd if=copy of=copy bs=4096 seek=100 skip=3 count=50 conv=notrunc status=none
    cp -a 2026 again; rsync -a 2026/ synced/; tar -cf - again | (mkdir out; tar -C out -xf -)
    mv again/1.raw moved; mv -f again/2.raw again/3.raw; ln again/4.raw hard; ln -s ../large soft
    mkdir -p deep/er/still; touch -d 2001-02-03T04:05:06 deep/er/still/old; chmod 640 hard
    truncate -s 100 again/5.raw; truncate -s 2M sparse; fallocate -p -o 100 -l 9000 again/60.raw
    setfattr -n user.note -v kept moved; rm -r synced; rm again/9*; rmdir deep/er/still 2>/dev/null || true
    /usr/bin/python3 - <<'PROGRAM'
    import os
    os.mkdir("many")
    for n in range(500): open(f"many/{n:04}" + "x" * 150, "w").write(str(n))
    with open("grown", "wb") as file:
        for n in range(200): file.write(bytes([n]) * 10007)
        os.rename("grown", "renamed")
        file.write(b"after the rename")
    PROGRAM
    """
  /// Prints a line for each file below `pictures` except the random content, with what a user can see of it.
  private static let listing = """
    cd pictures; find . -printf '%P %y %m %n %l ' \\( -type d -o -printf '%s' \\) -printf '\\n' | sort
    find . -type f ! -name large ! -name copy -exec sha256sum {} + | sort -k 2
    cmp -n 409600 large copy && echo begins alike; getfattr -n user.note --only-values moved
    stat -c %Y deep/er/still/old; ls many | wc -l
    """

  @Test(arguments: transports) func toolsDoTheSameAsInAPlainDirectory(_ transport: String) throws {
    try using(transport) { mounted in
      try mounted.sh("mkdir $M/A $W/plain; cd $W/plain; \(Self.tools)")
      try mounted.sh("cd $M/A/Photo; \(Self.tools)")
      let plain = try mounted.sh("cd $W/plain; \(Self.listing)")
      #expect(try mounted.sh("cd $M/A/Photo; \(Self.listing)") == plain)
      let content = try mounted.sh("cd $M/A/Photo/pictures; sha256sum large copy")
      try mounted.remount(["--transport", transport])
      #expect(try mounted.sh("cd $M/A/Photo; \(Self.listing)") == plain)
      #expect(try mounted.sh("cd $M/A/Photo/pictures; sha256sum large copy") == content)
    }
  }

  @Test(arguments: transports) func anOrdinaryUserMayMount(_ transport: String) throws {
    try using(transport, as: .ordinary) { mounted in
      try mounted.sh(
        """
        head -c 5000000 /dev/urandom > $W/content; mkdir $M/A; cp $W/content $M/A/Photo/content
        cmp $W/content $M/A/Photo/content
        """)
    }
  }

  /// Renames far more files than there are threads for the queue of one processor.
  @Test(arguments: transports) func manyFilesThatAreBeingWrittenCanBeRenamedAtOnce(
    _ transport: String
  ) throws {
    try using(transport) { mounted in
      try mounted.sh("mkdir $M/A")
      try mounted.python(
        """
        processor = min(os.sched_getaffinity(0))
        children = []
        for n in range(40):
            child = os.fork()
            if child == 0:
                os.sched_setaffinity(0, {processor})
                for again in range(3):
                    with open(f"{M}/A/Photo/{n}.part", "wb") as file:
                        file.write(bytes([n]) * 300000)
                        file.flush()
                        os.rename(f"{M}/A/Photo/{n}.part", f"{M}/A/Photo/{n}")
                        file.write(b"end")
                os._exit(0)
            children.append(child)
        for child in children: assert os.waitpid(child, 0)[1] == 0
        for n in range(40): assert get(f"{M}/A/Photo/{n}") == bytes([n]) * 300000 + b"end"
        """)
    }
  }

  /// Copies far more files than the kernel's queues have threads, while other programs keep the processors
  /// busy: then requests come while a queue starts another thread. A first copy after a mount starts most.
  @Test(arguments: transports) func manyFilesThatAreBeingWrittenAreCopiedAtOnceOnABusyMachine(
    _ transport: String
  ) throws {
    try using(transport) { mounted in
      for _ in 0..<5 {
        try mounted.python(
          """
          WRITER = '''
          import os, sys
          file = open(sys.argv[1], "w+b", buffering=0); file.truncate(3_000_000)
          os.pwrite(file.fileno(), bytes([int(sys.argv[2])]) * 1_500_000, 1_000_000)
          print("ready", flush=True); sys.stdin.read()
          '''
          def start(*words): return subprocess.Popen(words, stdin=-1, stdout=-1)
          busy = [start(sys.executable, "-c", "while True: pass") for n in range(8)]
          D = M + "/.plain"; os.makedirs(D, exist_ok=True)
          writers = [start(sys.executable, "-c", WRITER, f"{D}/{n}", str(n + 1)) for n in range(24)]
          for one in writers: assert one.stdout.readline() == b"ready\\n"
          copies = [start("cp", f"{D}/{n}", f"{W}/{n}") for n in range(24)]
          try:
              assert [one.wait(60) for one in copies] == [0] * 24
          finally:
              for one in busy: one.kill()
              # New requests free what still hangs.
              for n in range(200): os.statvfs(M)
              for one in writers: one.communicate()
          for n in range(24):
              assert get(f"{W}/{n}") == bytes(1_000_000) + bytes([n + 1]) * 1_500_000 + bytes(500_000)
          """)
        try mounted.remount(["--transport", transport])
      }
    }
  }

  @Test(arguments: transports) func aKilledDaemonLeavesAMountThatCanBeCleared(_ transport: String)
    throws
  {
    try using(transport) { mounted in
      try mounted.sh("mkdir $M/A; echo kept > $M/A/Photo/kept; albumfs sync $M")
      let daemon = mounted.daemon
      try mounted.sh(
        """
        ( for n in $(seq 100000); do cp $M/A/Photo/kept $M/A/Photo/$n || exit 0; done ) 2> $W/copying &
        await test -e $M/A/Photo/20
        kill -9 \(daemon); wait
        grep -Eq 'not connected|connection abort' $W/copying
        """)
      try mounted.kill()
      let look = try mounted.outcome("ls $M")
      #expect(look.code != 0 && look.errors.contains("not connected"), "\(look)")
      try mounted.sh("fusermount3 -u $M; test -z \"$(ls -A $M)\"")
      try mounted.mount(["--transport", transport])
      #expect(try mounted.sh("cat $M/A/Photo/kept") == "kept")
    }
  }

  /// The programs get errors, but the daemon must end and everything closed must be on disk.
  @Test(arguments: transports) func aSignalEndsAMountWhoseFilesAreOpen(_ transport: String) throws {
    try using(transport) { mounted in
      try mounted.sh(
        """
        mkdir $M/A; echo closed > $M/A/Photo/closed
        ( cd $M/A; exec 7> Photo/open; echo begun >&7; touch $W/ready; exec sleep infinity ) < /dev/null > /dev/null 2>&1 &
        echo $! > $W/holder
        await test -e $W/ready
        kill -TERM \(mounted.daemon)
        await ended \(mounted.daemon)
        kill -9 $(cat $W/holder)
        """)
      mounted.forget()
      try mounted.mount(["--transport", transport])
      #expect(try mounted.sh("cat $M/A/Photo/closed $M/A/Photo/open") == "closed\nbegun")
      #expect(try mounted.status().recovery.isEmpty)
    }
  }

  @Test(arguments: transports) func aLazyUnmountLetsOpenFilesBeWrittenToTheEnd(_ transport: String)
    throws
  {
    try using(transport) { mounted in
      try mounted.sh(
        """
        mkdir $M/A; exec 7> $M/A/Photo/open; echo before >&7
        fusermount3 -uz $M; echo after >&7; exec 7>&-
        await ended \(mounted.daemon)
        """)
      mounted.forget()
      try mounted.mount(["--transport", transport])
      #expect(try mounted.sh("cat $M/A/Photo/open") == "before\nafter")
    }
  }

  // MARK: Without io_uring

  /// Runs where the kernel's parameter appears to be off.
  @Test(
    .enabled(
      if: geteuid() == 0 && FileManager.default.fileExists(atPath: parameter),
      "needs root and Linux 6.14"))
  func whereItIsSwitchedOffAMountUsesTheDevice() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    let off = """
      echo N > $W/off; mount --bind $W/off \(Self.parameter)
      """
    let status = try mounted.sh(
      """
      unshare --mount bash -ec '\(off)
      albumfs mount --transport auto --password-file $P $S $M; albumfs status $M; albumfs umount $M'
      """)
    #expect(status.contains("Requests:    over /dev/fuse; FUSE over io_uring is switched off"))
    let insisting = try mounted.outcome(
      """
      unshare --mount bash -ec '\(off); albumfs mount --transport uring --password-file $P $S $M'
      """)
    #expect(insisting.code == 19 && insisting.errors.contains("scripts/enable-uring"))
  }

  @Test(.enabled(if: isOffered, "FUSE over io_uring is off: scripts/enable-uring"))
  func whoMayLockNoMemoryUsesTheDevice() throws {
    let mounted = try MountedStore(as: .ordinary)
    defer { mounted.abandon() }
    let status = try mounted.sh(
      """
      ulimit -l 0; albumfs mount --transport auto --password-file $P $S $M
      albumfs status $M; mkdir $M/A; echo works > $M/A/Photo/file; cat $M/A/Photo/file; albumfs umount $M
      """)
    #expect(status.contains("over /dev/fuse; the rings need more locked memory"))
    #expect(status.hasSuffix("works"))
    let insisting = try mounted.outcome(
      "ulimit -l 0; albumfs mount --transport uring --password-file $P $S $M")
    #expect(insisting.code == 19 && insisting.errors.contains("ulimit -l"))
  }

  @Test(.enabled(if: isOffered, "FUSE over io_uring is off: scripts/enable-uring"))
  func aMountUsesItByItself() throws {
    try MountedStore.use(mountOptions: ["--transport", "auto"]) { mounted in
      let status = try mounted.status()
      #expect(status.transport == "uring" && status.transportReason == nil)
      #expect(try mounted.sh("albumfs status $M").contains("Requests:    over io_uring"))
    }
  }
}
