import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// The system mounts a space: mount(8) with lines of fstab, pam_mount, and the units of systemd.
@Suite(.serialized, .timeLimit(.minutes(30))) struct SystemMountTests {
  private func withStore(
    as person: MountedStore.Person = .tester, _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore(as: person)
    defer { mounted.abandon() }
    try body(mounted)
  }

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  /// fstab, and pam_mount, which writes the password to standard input.
  @Test(.enabled(if: geteuid() == 0, "calls umount(8)"))
  func mountOfTheSystemMountsASpace() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        mkdir $W/sbin; ln -s "$(command -v albumfs)" $W/sbin/mount.fuse.albumfs
        $W/sbin/mount.fuse.albumfs $S $M -o rw,noexec,noauto,user < $P
        mountpoint -q $M; grep " $M " /proc/self/mounts | grep -q noexec
        umount $M; await '! albumfs list | grep -q "$M"'
        code=0; echo wrong | $W/sbin/mount.fuse.albumfs $S $M || code=$?; [ $code = 12 ]
        """)
    }
  }

  /// mount(8) and umount(8) themselves, with lines of fstab, in a mount namespace of their own.
  @Test(.enabled(if: geteuid() == 0, "makes a mount namespace"))
  func linesOfFstabMountForRootAndForUsers() throws {
    try withStore(as: .ordinary) { mounted in
      let outcome = try mounted.outcome(
        as: .tester,
        """
        mkdir $W/sbin; ln -s "$(command -v albumfs)" $W/sbin/mount.fuse.albumfs
        chmod 755 $W/..; chown -R 65534:65534 $S $M
        cat > $W/fstab <<END
        $S $M fuse.albumfs noauto,user,noatime 0 0
        $S $W/system fuse.albumfs allow-other,password-file=$P 0 0
        END
        mkdir $W/system
        cat > $W/inside <<'END'
        set -Eeuo pipefail; trap 'echo "failed: $BASH_COMMAND" >&2' ERR
        mount --bind $W/fstab /etc/fstab
        mount -t overlay -o lowerdir=$W/sbin:/usr/sbin none /usr/sbin
        person() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
        \(Waiting.shell)
        ends() { await "! albumfs list | grep -q '$1'"; }
        # A line with `user`: the password comes from the user, who may unmount again, as nobody else may.
        person mount $M < $P
        grep "^albumfs $M fuse.albumfs .*nosuid.*noatime.*user_id=65534" /proc/self/mounts
        person touch $M/file; person test -O $M/file
        code=0; setpriv --reuid=1001 --regid=1001 --clear-groups umount $M 2> /dev/null || code=$?; [ $code = 32 ]
        person umount $M; ends $M
        # At the start of the machine, and again.
        mount -a; mount -a; test "$(grep -c " $W/system fuse.albumfs " /proc/self/mounts)" = 1
        person test -e $W/system/file; test "$(stat -c %u $W/system/file)" = 65534
        grep -qF "$S " /proc/self/mounts && exit 1
        umount $W/system; ends $W/system
        # A wrong password fails as any mount does, and says so.
        code=0; echo wrong | person mount $M 2> $W/said || code=$?; [ $code = 12 ]; grep -q password $W/said
        END
        unshare --mount --propagation private bash $W/inside
        """)
      #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
    }
  }

  /// systemd mounts in the process group of its automount; everybody else waits in the directory until it is done.
  @Test(.enabled(if: geteuid() == 0 && hasAutofs, "needs root and autofs"))
  func anAutomountMountsWhenSomebodyEnters() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        albumfs mount -q --password-file $P $S $M; echo kept > $M/file; albumfs umount $M
        mkdir $W/sbin; ln -s "$(command -v albumfs)" $W/sbin/mount.fuse.albumfs
        """)
      try mounted.python(
        """
        reading, writing = os.pipe()
        options = f"fd={writing},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct"
        assert libc.mount(b"systemd-1", os.fsencode(M), b"autofs", 0, options.encode()) == 0
        try:
            root = os.open(M, os.O_RDONLY | os.O_DIRECTORY)
            reader = subprocess.Popen(["cat", M + "/file"], start_new_session=True, stdout=subprocess.PIPE)
            packet = os.read(reading, 4096)
            token = int.from_bytes(packet[8:12], sys.byteorder)
            options = "rw,allow-other,x-systemd.automount,password-file=" + os.environ["P"]
            command = [W + "/sbin/mount.fuse.albumfs", S, M, "-o", options]
            code = subprocess.run([*command], stdin=subprocess.DEVNULL, timeout=600).returncode
            READY, FAIL = 0x9360, 0x9361
            fcntl.ioctl(root, FAIL if code else READY, token)
            os.close(root)
            assert (code, reader.communicate()[0]) == (0, b"kept\\n"), code
            subprocess.run(["umount", M], check=True)
        finally:
            subprocess.run(["umount", "-l", M])
        """)
    }
  }

  private static let hasAutofs =
    (try? String(contentsOfFile: "/proc/filesystems", encoding: .utf8))?.contains("\tautofs\n")
    ?? false

  private static let analyze = "/usr/bin/systemd-analyze"

  @Test(.enabled(if: FileManager.default.fileExists(atPath: analyze), "needs systemd-analyze"))
  func systemdUnderstandsTheUnits() throws {
    try withStore { mounted in
      let outcome = try mounted.outcome(
        """
        mkdir -p $W/units $W/run; export XDG_RUNTIME_DIR=$W/run
        cd \(SystemMountTests.root)/scripts/system
        sed "s,/usr/bin/albumfs,$(command -v albumfs)," albumfs@.service > $W/units/albumfs@.service
        sed "s,/usr/libexec/albumfs,$PWD," albumfs-lock.service > $W/units/albumfs-lock.service
        cd $W/units; name=albumfs@$(systemd-escape --path "$M").service; cp albumfs@.service "$name"
        \(SystemMountTests.analyze) verify --user --man=no ./albumfs-lock.service "./$name"
        """)
      #expect(outcome.code == 0 && outcome.errors == "", "\(outcome)")
    }
  }
}
