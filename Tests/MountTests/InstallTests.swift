import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// `scripts/install` puts albumfs on a machine, and the desktop's own programs use it there.
@Suite(.serialized, .timeLimit(.minutes(30))) struct InstallTests {
  private func withStore(_ body: (MountedStore) throws -> Void) throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try body(mounted)
  }

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  private static func has(_ programs: String...) -> Bool {
    programs.allSatisfy { FileManager.default.fileExists(atPath: "/usr/bin/" + $0) }
  }

  // MARK: scripts/install

  /// Links stand for the built programs, whose copies would take much room.
  private let programs = """
    mkdir $W/built; for name in albumfs albumfs-thumbnailer albumfs-fido2 albumfs-fetch albumfs-remote; do
      ln -s "$(dirname "$(readlink -f "$(command -v albumfs)")")/$name" $W/built/$name; done
    """

  @Test func anInstallationWorksAndItsRemovalLeavesNothing() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        \(programs)
        install() { \(InstallTests.root)/scripts/install --prefix $W/prefix "$@" > /dev/null; }
        umask 077; install --programs $W/built; install --programs $W/built
        cd $W/prefix
        for name in bin/albumfs libexec/albumfs/albumfs-{thumbnailer,fido2,fetch,remote,lock-watch} \\
          sbin/albumfs-enable-uring; do test "$(stat -c %a $name)" = 755; done
        for name in share/man/man1/albumfs{,-mount,-umount,-traces}.1.gz \\
          share/man/man7/albumfs-{passwords,owners,backups,deniability,mounting,albums}.7.gz \\
          share/man/man8/mount.fuse.albumfs.8.gz \\
          share/bash-completion/completions/albumfs share/zsh/site-functions/_albumfs \\
          share/fish/vendor_completions.d/albumfs.fish lib/systemd/user/albumfs{@,-lock}.service \\
          share/albumfs/albumfs.sirikali.json; do test -s $name; test "$(stat -c %a $name)" = 644; done
        test -z "$(find . -type d -not -perm 755)"
        grep -q "^ExecStart=$W/prefix/bin/albumfs mount" lib/systemd/user/albumfs@.service
        grep -qx "ExecStart=$W/prefix/libexec/albumfs/albumfs-lock-watch" \\
          lib/systemd/user/albumfs-lock.service
        # The programs find one another.
        PATH=$W/prefix/bin:/usr/bin:/bin; sbin/mount.fuse.albumfs $S $M < $P
        mkdir $M/Trip; albumfs status $M > /dev/null; albumfs umount $M
        # Files and directories of others stay.
        mkdir lib/other; echo theirs > share/theirs; cd /
        install --uninstall
        test "$(cd $W/prefix; find . | sort | tr '\\n' ' ')" = '. ./lib ./lib/other ./share ./share/theirs '
        rm -r $W/prefix; mkdir $W/prefix; install --programs $W/built; install --uninstall
        test -z "$(ls -A $W/prefix)"
        code=0; install --uninstall 2> /dev/null || code=$?; [ $code = 1 ]
        """)
    }
  }

  /// A package's tree has the same files in the places of a system, and no list of its own.
  @Test func aPackagesTreeHasTheFilesOfTheSystem() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        \(programs)
        DESTDIR=$W/tree/new \(InstallTests.root)/scripts/install --prefix /usr --programs $W/built > /dev/null
        cd $W/tree/new/usr; test "$(ls -A ..)" = usr
        test "$(readlink sbin/mount.fuse.albumfs)" = ../bin/albumfs; test ! -e share/albumfs/installed
        test -x lib/systemd/system-sleep/albumfs; test -s share/zsh/vendor-completions/_albumfs
        grep -qx 'ExecStart=/usr/bin/albumfs mount --quiet %f' lib/systemd/user/albumfs@.service
        ! grep -rqF "$W" --include='*.service' --include='*.json' .
        """)
    }
  }

  // MARK: Sleep

  /// systemd calls the hook with `pre` or `post` and the kind of sleep.
  @Test(arguments: ["suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate"])
  func spacesAreLockedBeforeTheMachineSleepsAndNotAfterIt(kind: String) throws {
    try withStore { mounted in
      try mounted.sh(
        """
        # Stands in the way, because other tests of this machine have spaces of the same user.
        mkdir $W/fake; printf '#!/bin/sh\\necho "$@" >> %s\\nexit 46\\n' $W/calls > $W/fake/albumfs
        chmod 755 $W/fake/albumfs; PATH=$W/fake:$PATH
        hook=\(InstallTests.root)/scripts/system/albumfs-sleep
        $hook post \(kind); test ! -e $W/calls
        # A space that stays open does not keep the machine awake.
        $hook pre \(kind); test "$(cat $W/calls)" = 'lock --all --quiet'
        """)
    }
  }

  // MARK: SiriKali

  /// SiriKali puts its commands together from the file, and writes the password as the file says.
  @Test func theBackEndOfSiriKaliCreatesUnlocksAndLocks() throws {
    try withStore { mounted in
      try mounted.python(
        """
        import json, shlex
        with open("\(InstallTests.root)/scripts/system/albumfs.sirikali.json") as file: end = json.load(file)
        store, point = W + "/new store", W + "/mount point"
        os.mkdir(point)
        def run(words, password=None, code=0):
            values = {"cipherFolder": shlex.quote(store), "mountPoint": shlex.quote(point),
                      "createOptions": "--kdf interactive",
                      "mountOptions": end["idleString"].replace("%{timeout}", "5"),
                      "fuseOpts": "-o rw,fsname=albumfs"}
            for name, value in values.items(): words = words.replace("%{" + name + "}", value)
            assert "%" not in words, words
            text = password and end["passwordFormat"].replace("%{password}", password)
            done = subprocess.run(shlex.split(words), input=text, stdin=None if text else subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=600)
            assert done.returncode == code, (words, done)
            return done.stdout
        program = end["executableName"] + " "
        run(program + end["createControlStructure"], "correct horse")
        assert all(os.path.exists(store + "/" + name) for name in end["configFileNames"])
        run(program + end["mountControlStructure"], "wrong", code=int(end["wrongPasswordErrorCode"]))
        run(program + end["mountControlStructure"], "correct horse")
        with open("/proc/self/mounts") as file:
            mine = [line.split() for line in file if line.split()[1] == point.replace(" ", "\\\\040")]
        assert mine[0][2] in end["fuseNames"], mine
        put(point + "/file")
        for command in end["volumePropertiesCommands"]: assert "/mount point" in run(command)
        run(shlex.join(end["unMountCommand"]).replace("'%{mountPoint}'", "%{mountPoint}"))
        assert not os.path.exists(point) or os.listdir(point) == []
        line, word = end["versionStringTextPosition"]
        output = run(program + end["versionArgumentString"])
        assert output.splitlines()[line].split()[word][0].isdigit(), output
        """)
    }
  }

  // MARK: Secrets

  /// The commands that keep a secret, from the table in Passwords.md, and the option that then reads it.
  private func documented(_ beginning: String) throws -> (
    prepare: String, keep: String, read: String
  ) {
    let path = InstallTests.root + "/Sources/albumfs/Documentation.docc/Passwords.md"
    let page = try String(contentsOfFile: path, encoding: .utf8)
    let row = try #require(page.split(separator: "\n").first { $0.contains("`\(beginning)") })
    let spans = row.split(separator: "`")
    return (
      spans.first { $0.hasPrefix("mkdir") }.map(String.init) ?? ":",
      String(try #require(spans.first { $0.hasPrefix(beginning) })),
      String(try #require(spans.first { $0.hasPrefix("--password-command") }))
    )
  }

  @Test(.enabled(if: has("secret-tool", "gnome-keyring-daemon"), "needs GNOME Keyring"))
  func aKeyringGivesThePasswordAsDocumented() throws {
    let commands = try documented("secret-tool store")
    try withStore { mounted in
      try mounted.sh(
        """
        mkdir -m 700 $W/run; export XDG_RUNTIME_DIR=$W/run
        cat > $W/inside <<'END'
        set -e; printf login | gnome-keyring-daemon --unlock --components=secrets > $W/daemon
        head -n 1 $P | tr -d '\\n' | \(commands.keep)
        albumfs mount -q \(commands.read) $S $M; mountpoint -q $M; albumfs umount $M
        END
        dbus-run-session -- bash $W/inside 2> $W/said || { cat $W/said; exit 1; }
        ! grep -rqF 'correct horse' $W
        """)
    }
  }

  @Test(
    .enabled(if: geteuid() == 0 && has("systemd-creds"), "needs root and systemd-creds"))
  func systemdGivesThePasswordAsDocumented() throws {
    let commands = try documented("systemd-creds encrypt")
    try withStore { mounted in
      // The machine's key lies in /var/lib/systemd, on no temporary file system.
      try mounted.sh(
        """
        K=$(mktemp -d -p /var/tmp albumfs-test-XXXXXX); trap 'rm -rf $K' EXIT
        cat > $W/inside <<'END'
        set -e; mkdir $K/key $K/etc $K/work; mount --bind $K/key /var/lib/systemd
        mount -t overlay -o lowerdir=/etc,upperdir=$K/etc,workdir=$K/work none /etc
        \(commands.prepare)
        head -n 1 $P | \(commands.keep)
        albumfs mount -q \(commands.read) $S $M; mountpoint -q $M; albumfs umount $M
        ! grep -qF 'correct horse' /etc/albumfs/album.cred
        END
        K=$K unshare --mount --propagation private bash $W/inside
        """)
    }
  }
}
