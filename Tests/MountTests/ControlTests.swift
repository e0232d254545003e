import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// Commands reach the daemon of a mount from any directory and as any permitted user, and report that it is
/// gone only when it is.
@Suite(.serialized, .timeLimit(.minutes(30))) struct ControlTests {
  private struct Listing: Decodable {
    struct Entry: Decodable {
      var mountPoint: String
      var alive: Bool
      var pid: Int32?
    }
    var mounts: [Entry]
  }

  private func entry(_ mounted: MountedStore) throws -> Listing.Entry? {
    let json = try mounted.sh("timeout 300 albumfs list --json")
    return try JSONDecoder().decode(Listing.self, from: Data(json.utf8)).mounts
      .first { $0.mountPoint == mounted.mountPoint }
  }

  /// The kernel reuses the number of a mount at once.
  @Test func eightMountsThatComeAndGoDoNotDisturbEachOther() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.sh(
      """
      trap 'for n in 1 2 3 4 5 6 7 8; do umount -l $W/m$n 2>/dev/null || true; done' EXIT
      one() {
        cp -a $S $W/s$1; mkdir $W/m$1
        for round in 1 2 3 4 5; do
          albumfs mount --password-file $P $W/s$1 $W/m$1
          echo $round > $W/m$1/file$round
          timeout 300 albumfs status $W/m$1 | grep -q "^Mounted on:  ~/m$1 "
          timeout 300 albumfs umount $W/m$1
        done
      }
      jobs=; for n in 1 2 3 4 5 6 7 8; do one $n & jobs="$jobs $!"; done
      for job in $jobs; do wait $job; done
      """)
  }

  @Test func sparseFilesWithMoreBytesThanANumberHoldsEndNoCommandAndNoDaemon() throws {
    try MountedStore.use { mounted in
      try mounted.sh(
        """
        mkdir $M/A; truncate -s 6E $M/A/Photo/a.jpg $M/A/Photo/b.jpg
        albumfs status $M | grep -q '(9223372036854775807 bytes)'
        for to in $W/out "--zip $W/out.zip"; do
          code=0; albumfs export -q $M/A $to || code=$?; test $code = 43
        done
        mountpoint -q $M
        """)
    }
  }

  @Test func aDaemonIsFoundWithoutTheRuntimeDirectoryThatItWasMountedWith() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.sh(
      """
      mkdir -m 700 $W/run
      XDG_RUNTIME_DIR=$W/run albumfs mount --password-file $P $S $M
      test "$(ls $W/run/albumfs | wc -l)" = 1; test "$(stat -c %a $W/run/albumfs)" = 700
      XDG_RUNTIME_DIR= timeout 300 albumfs status $M
      XDG_RUNTIME_DIR=/nowhere timeout 300 albumfs umount $M
      test ! -e $W/run/albumfs
      """)
  }

  @Test func aRuntimeDirectoryThatOthersMayEnterIsNotUsed() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.sh(
      """
      mkdir -m 755 $W/run
      XDG_RUNTIME_DIR=$W/run albumfs mount --password-file $P $S $M
      test ! -e $W/run/albumfs; timeout 300 albumfs status $M; timeout 300 albumfs umount $M
      """)
  }

  @Test(.enabled(if: geteuid() == 0, "is about two users"))
  func rootActsOnAUsersMountAndAnotherUserDoesNot() throws {
    let mounted = try MountedStore(as: .ordinary)
    defer { mounted.abandon() }
    try mounted.mount()
    let status = try mounted.outcome(as: .tester, "timeout 300 albumfs status $M")
    #expect(status.code == 0, "\(status.errors)")
    let other = "timeout 300 setpriv --reuid=4711 --regid=4711 --clear-groups"
    for command in ["albumfs status $M", "albumfs umount $M"] {
      let refused = try mounted.outcome(as: .tester, "\(other) \(command)")
      #expect(refused.code != 0 && refused.code != 124, "\(command)")
    }
    let alive = try #require(try entry(mounted))
    #expect(alive.alive)
    let end = try mounted.outcome(as: .tester, "timeout 300 albumfs umount $M")
    #expect(end.code == 0, "\(end.errors)")
    mounted.forget()
    // A killed daemon is dead for root too, although the kernel replies only to the user who mounted.
    try mounted.mount()
    try mounted.kill()
    let listed = try mounted.outcome(as: .tester, "timeout 300 albumfs list")
    #expect(listed.output.contains("\(mounted.mountPoint)\tstore unknown\tdead"), "\(listed)")
    let cleared = try mounted.outcome(as: .tester, "timeout 300 albumfs umount $M")
    #expect(cleared.code == 0, "\(cleared.errors)")
  }

  /// Runs `body` with a mount whose daemon is stopped by SIGSTOP.
  private func withStoppedDaemon(_ body: (MountedStore, _ daemon: Int32) throws -> Void) throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.mount()
    let daemon = mounted.daemon
    defer { _ = Glibc.kill(daemon, SIGCONT) }
    #expect(Glibc.kill(daemon, SIGSTOP) == 0)
    try body(mounted, daemon)
  }

  @Test func aDaemonThatHangsIsNotCalledGone() throws {
    try withStoppedDaemon { mounted, daemon in
      let hanging = try entry(mounted)
      #expect(hanging?.alive == true && hanging?.pid == daemon)
      #expect(Glibc.kill(daemon, SIGCONT) == 0)
      try mounted.unmount()
    }
  }

  /// Commands that ask it do not fill up the kernel's queue for it either.
  @Test func aCommandReportsAStoppedDaemonAndNoOtherWaits() throws {
    try withStoppedDaemon { mounted, daemon in
      let asked = try mounted.outcome("timeout 300 albumfs status $M")
      #expect(asked.code != 0 && asked.code != 124, "\(asked)")
      #expect(asked.errors.contains("kill -CONT"), "\(asked.errors)")
      for _ in 0..<20 { _ = try entry(mounted) }
      let listed = try entry(mounted)
      #expect(listed?.alive == true && listed?.pid == daemon)
      #expect(Glibc.kill(daemon, SIGCONT) == 0)
      try mounted.unmount()
    }
  }

  @Test func umountSaysThatItsDaemonIsStopped() throws {
    try withStoppedDaemon { mounted, daemon in
      let told = try mounted.sh(
        """
        timeout 300 albumfs umount $M > $W/told 2>&1 & end=$!
        await grep -q CONT $W/told
        cat $W/told; kill -CONT \(daemon); wait $end
        """)
      #expect(told.contains("kill -CONT \(daemon)"), "\(told)")
      mounted.forget()
    }
  }

  @Test func aDaemonWhoseSocketIsGoneIsNotCalledGone() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.sh(
      """
      mkdir -m 700 $W/run
      XDG_RUNTIME_DIR=$W/run albumfs mount --password-file $P $S $M
      rm -r $W/run/albumfs; echo kept > $M/file
      """)
    #expect(try entry(mounted)?.alive == true)
    let refused = try mounted.outcome("timeout 300 albumfs umount $M")
    #expect(refused.code == 47, "\(refused.errors)")
    #expect(refused.errors.contains("cannot be reached"), "\(refused.errors)")
    #expect(try mounted.sh("cat $M/file") == "kept")
    try mounted.sh("timeout 300 albumfs umount --lazy $M")
    // The space is free when the daemon has written everything.
    try mounted.sh(
      """
      await albumfs mount --password-file $P $S $M
      test "$(cat $M/file)" = kept; timeout 300 albumfs umount $M
      """)
  }

  @Test(.enabled(if: geteuid() == 0, "mounts a disk"))
  func theDiskOfTheStoreIsFreeWhenUmountReturns() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.sh("mkdir $W/disk; mount -t tmpfs none $W/disk")
    defer { _ = try? mounted.sh("umount -l $W/disk") }
    try mounted.sh(
      """
      cp -a $S $W/disk/store
      for round in $(seq 20); do
        timeout 300 albumfs mount --password-file $P $W/disk/store $M
        echo $round > $M/note
        timeout 300 albumfs umount $M
        mount -o remount,ro $W/disk
        mount -o remount,rw $W/disk
      done
      """)
  }

  @Test func aKilledDaemonIsClearedWithItsSocket() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.sh(
      "mkdir -m 700 $W/run; XDG_RUNTIME_DIR=$W/run albumfs mount --password-file $P $S $M")
    let daemon = try mounted.status().pid
    #expect(Glibc.kill(daemon, SIGKILL) == 0)
    try mounted.sh(
      """
      await 'albumfs list | grep -q "$M.*dead"'
      test "$(ls $W/run/albumfs | wc -l)" = 1
      XDG_RUNTIME_DIR=$W/run timeout 300 albumfs umount $M; test "$(ls $W/run/albumfs | wc -l)" = 0
      """)
  }

  @Test(.enabled(if: geteuid() == 0, "needs a /dev of its own"))
  func theSystemLogTellsNoPathNoSegmentAndNoMount() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.sh(
      """
      cat > $W/log.py <<'END'
      import os, socket, sys
      log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); log.bind("/dev/log")
      open(sys.argv[1], "wb").close()
      log.settimeout(600)
      while True:
          try: message = log.recv(65536)
          except TimeoutError: break
          if message == b"end": break
          with open(sys.argv[1], "ab") as file: file.write(message + b"\\n")
      END
      cat > $W/session <<'END'
      set -e
      \(Waiting.shell)
      mount -t tmpfs none /dev
      mknod /dev/null c 1 3; mknod /dev/urandom c 1 9; mknod /dev/fuse c 10 229
      chmod 666 /dev/*
      /usr/bin/python3 $W/log.py $W/log & listener=$!
      await test -e $W/log
      albumfs mount $1 --password-file $P $S $M
      awk -v point=$M '$5 == point { print $3 }' /proc/self/mountinfo > $W/device
      mkdir $M/Secret; head -c 300000 /dev/urandom > $M/Secret/Photo/name; sync $M/Secret/Photo/name
      # A segment is taken away and written anew, which is an error in the log; then all of them.
      for d in $S/segments/*; do mv $d $W/gone-$RANDOM; done
      # If a folder goes while it is synced, the space turns read-only instead: that is an error in the log, too.
      { head -c 300000 /dev/urandom > $M/Secret/Photo/name2; } || true
      sync $M/Secret/Photo/name2 || true
      timeout 300 albumfs status --verbose $M > $W/status
      timeout 300 albumfs umount $M || true
      /usr/bin/python3 -c 'import socket
      socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"end", "/dev/log")'
      wait $listener
      END
      """)
    try mounted.sh("cp -a $S $W/good; timeout 600 unshare --mount bash $W/session ''")
    let log = try mounted.sh("cat $W/log")
    // Several spaces may be mounted.
    let device = try mounted.sh("cat $W/device")
    #expect(log.contains("error"), "\(log)")
    #expect(log.split(separator: "\n").allSatisfy { $0.contains("space \(device):") }, "\(log)")
    for secret in ["segments", "Secret", "/", "mounted\n", "unmounted", "seconds"] {
      #expect(!log.contains(secret), "\(log)")
    }
    // `albumfs status --verbose` shows what happened, and --verbose writes it to the log.
    #expect(try mounted.sh("cat $W/status").contains("segments/"))
    try mounted.sh(
      "rm -r $S $W/gone-* $W/log; cp -a $W/good $S; timeout 600 unshare --mount bash $W/session -v")
    let whole = try mounted.sh("cat $W/log")
    #expect(whole.contains("segments/"))
    #expect(
      whole.split(separator: "\n").allSatisfy { $0.contains("\(mounted.mountPoint): ") }, "\(whole)"
    )
  }
}
