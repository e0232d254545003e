import AlbumTestSupport
import Foundation
import Testing

/// A mounted space shows itself as it was, and what was lost comes back from there.
@Suite(.serialized) struct SnapshotTests {
  private static let sums = """
    sums() { (cd "$1"; find . -mindepth 1 -type f | sort | xargs -rd '\\n' sha256sum); }
    """

  private static let hasSamba = ["/usr/sbin/smbd", "/usr/bin/smbclient"].allSatisfy {
    FileManager.default.isExecutableFile(atPath: $0)
  }
  private static let page =
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
    + "/../../Sources/albumfs/Documentation.docc/Everyday.md"

  private func withPhotos(_ body: (MountedStore) throws -> Void) throws {
    try MountedStore.use { mounted in
      try mounted.sh("mkdir $M/Trip $M/Trip/Photo/day; ln -s Photo/a.jpg $M/Trip/first")
      try mounted.write(Data(TestPictures.jpeg(orientation: 1)), "picture")
      try mounted.sh(
        "for name in a b day/c; do { cat $W/picture; echo $name; } > $M/Trip/Photo/$name.jpg; done")
      try mounted.sync()
      try body(mounted)
    }
  }

  @Test func theFirstRemovalMakesASnapshotOfAllThatWasThere() throws {
    try withPhotos { mounted in
      try mounted.sh(
        Self.sums + """

          sums $M > $W/before; stat -c '%n %a %Y %s' $M/Trip/Photo/* > $W/stat
          rm -rf $M/Trip; echo new > $M/other
          S=$(albumfs snapshot list $M | cut -f 1); test $(echo "$S" | wc -l) = 1
          cd $M/.snapshots/$S; sums . | diff $W/before -
          test "$(readlink Trip/first)" = Photo/a.jpg; test ! -e other
          stat -c "$M/%n %a %Y %s" Trip/Photo/*.jpg | diff <(grep jpg $W/stat) -
          ls $M/.snapshots | diff <(echo "$S") -
          # A time leads there too.
          test -e $M/.snapshots/2001-01-01T00.00.00Z/Trip/Photo/a.jpg
          cd /; albumfs snapshot restore -q $M 1d Trip
          sums $M/Trip | diff <(grep Trip $W/before | sed 's,\\./Trip,.,') -
          test -s $M/Trip/Thumb/a.jpg
          """)
      try mounted.remount()
      try mounted.sh(
        Self.sums + """

          sums $M/.snapshots/$(ls $M/.snapshots) | diff $W/before -
          albumfs snapshot list --json $M | grep -q '"named" *: *false'
          """)
    }
  }

  /// Nothing that walks the tree enters, and nothing changes a snapshot.
  @Test func walkersDoNotEnterAndWritersAreRefused() throws {
    try withPhotos { mounted in
      try mounted.sh(
        """
        rm $M/Trip/Photo/a.jpg; S=$M/.snapshots/$(ls $M/.snapshots)
        none() { test -z "$(grep "$@" || true)"; }
        ls -A $M | none snapshots
        find $M | none snapshots
        cp -r $M $W/copy; find $W/copy | none snapshots
        tar -cf - -C $M . | tar -tf - | none snapshots
        du -a $M | none snapshots
        rsync -aX --delete $M/ $W/mirror/; test ! -e $W/mirror/.snapshots
        # What file managers and their thumbnailers see, and what locate finds.
        gio tree -h $M | none snapshots; gio list -h $M | none snapshots
        updatedb -U $M -o $W/locate.db -l no --prunefs '' --prunepaths '' --prune-bind-mounts no
        locate -d $W/locate.db b.jpg | grep -q Trip; locate -d $W/locate.db '*' | none snapshots
        mkdir $W/empty; rsync -a --delete $W/empty/ $M/
        test -e $S/Trip/Photo/a.jpg; test -e $S/Trip/Photo/b.jpg
        for call in "rm $S/Trip/Photo/a.jpg" "touch $S/x" "mkdir $S/x" "mv $S/Trip $S/x" \\
          "cp $W/picture $S/Trip/Photo/a.jpg" "chmod 700 $S/Trip" "rmdir $S" "ln $S/Trip/Photo/a.jpg $M/x"; do
          if $call 2> $W/said; then echo "done: $call"; exit 1; fi
          grep -Eq 'Read-only file system|cross-device' $W/said
        done
        # rsync takes the name of a snapshot for a path.
        cd $M/.snapshots; rsync -aX "$(basename $S)/" $W/back/; cmp $W/back/Trip/Photo/b.jpg $S/Trip/Photo/b.jpg
        stat -c %i $S/Trip/Photo/a.jpg $S/Trip/Photo/b.jpg | sort -u | wc -l | grep -qx 2
        """)
    }
  }

  private static let isLong = ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] != nil
  private static let hasThunar = ["thunar", "strace", "xvfb-run", "dbus-run-session", "gdbus"]
    .allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }

  /// A file manager that shows hidden files opens the space, counts what is in it, and copies it.
  @Test(
    .enabled(if: Self.isLong, "a part of the long run"),
    .enabled(if: Self.hasThunar, "needs thunar, strace and xvfb"))
  func thunarDoesNotEnter() throws {
    try withPhotos { mounted in
      try mounted.sh(
        """
        rm $M/Trip/Photo/a.jpg; ls $M/.snapshots/*/Trip/Photo | grep -qx a.jpg
        mkdir $M/.papers; echo deep > $M/.papers/deep
        mkdir -p $W/home/.config $W/copies; export M W HOME=$W/home XDG_RUNTIME_DIR=$W/home
        export XDG_CONFIG_HOME=$W/home/.config XDG_CACHE_HOME=$W/home/.cache
        # The shell of xvfb-run passes no functions on.
        declare -f await > $W/drive; cat >> $W/drive <<'EOF'
        set -eu
        xfconf-query -c thunar -p /last-show-hidden -n -t bool -s true
        strace -f -qq -o $W/calls -e trace=%file thunar --daemon & THUNAR=$!
        trap 'thunar --quit || true; wait $THUNAR || true' EXIT
        NAME=org.xfce.FileManager
        ask() { gdbus call --session --dest $NAME --object-path /org/xfce/FileManager --method $NAME."$@"; }
        gdbus wait --session --timeout 60 $NAME
        ask DisplayFolder "file://$M" "$DISPLAY" ""
        await 'grep -q "$M/.papers" $W/calls'
        ask DisplayFileProperties "file://$M" "$DISPLAY" ""
        await 'grep -q "$M/.papers/deep" $W/calls'
        ask CopyTo "$W" "['file://$M']" "['file://$W/copies/all']" "$DISPLAY" ""
        await 'cmp -s $M/Trip/Photo/day/c.jpg $W/copies/all/Trip/Photo/day/c.jpg'
        await 'cmp -s $M/.papers/deep $W/copies/all/.papers/deep'
        EOF
        xvfb-run -a dbus-run-session -- bash $W/drive > $W/said 2>&1 || { cat $W/said; exit 1; }
        # It asked for what is hidden too, but for no snapshot.
        test -z "$(grep snapshots $W/calls || true)"; test ! -e $W/copies/all/.snapshots
        """)
    }
  }

  @Test func aNamedSnapshotStaysUntilAPasswordRemovesIt() throws {
    try withPhotos { mounted in
      try mounted.sh(
        """
        albumfs snapshot create -q $M "before sorting"
        code=0; albumfs snapshot create $M "before sorting" 2> /dev/null || code=$?; test $code != 0
        code=0; albumfs snapshot create $M a:b 2> /dev/null || code=$?; test $code = 1
        cd $M/Trip/Photo; mv a.jpg z.jpg; rm b.jpg; echo more >> day/c.jpg; mkdir $M/New; cd /
        albumfs snapshot diff $M "before sorting" > $W/diff
        grep -qx 'R Trip/Photo/a.jpg -> Trip/Photo/z.jpg' $W/diff
        grep -qx -- '- Trip/Photo/b.jpg' $W/diff; grep -qx 'M Trip/Photo/day/c.jpg' $W/diff
        grep -qx '+ New' $W/diff
        test "$(ls "$M/.snapshots/before sorting/Trip/Photo" | tr '\\n' ' ')" = 'a.jpg b.jpg day '
        albumfs snapshot restore $M "before sorting" Trip/Photo/b.jpg; test -s $M/Trip/Photo/b.jpg
        code=0; albumfs snapshot restore $M "before sorting" No 2> /dev/null || code=$?; test $code = 1
        code=0; albumfs snapshot remove $M "before sorting" < /dev/null 2> /dev/null || code=$?; test $code = 9
        test -e "$M/.snapshots/before sorting"
        albumfs snapshot remove -q $M "before sorting" --password-file $P
        test ! -e "$M/.snapshots/before sorting"
        """)
    }
  }

  /// What only a snapshot shows takes room, too.
  @Test func statusSaysHowMuchOnlySnapshotsShow() throws {
    try withPhotos { mounted in
      try mounted.sh(
        """
        head -c 300000 /dev/urandom > $M/.work; albumfs snapshot create -q $M kept; rm $M/.work
        albumfs status --json $M > $W/status
        """)
      try mounted.python(
        """
        import json
        deleted = json.load(open(W + "/status"))["deleted"]
        assert (deleted["snapshots"], deleted["snapshotBytes"], deleted["files"]) == (1, 300000, 0), deleted
        assert deleted["bytesGivenUp"] == 0, deleted
        """)
      try mounted.sh("albumfs status $M | grep -q '1 snapshot with .* that only they show'")
    }
  }

  /// The whole space as it was, on a mount of its own, which leaves no trace.
  @Test func aMountShowsTheSpaceAsItWas() throws {
    try withPhotos { mounted in
      try mounted.sh(
        Self.sums + """

          rm $M/Trip/first; sums $M > $W/before; albumfs snapshot create -q $M first
          rm -r $M/Trip; mkdir $M/Other
          albumfs umount -q $M; (cd $S; find . -type f | sort | xargs sha256sum) > $W/store
          code=0; albumfs mount -q --password-file $P --at nothing $S $M 2> $W/said || code=$?; test $code = 1
          grep -q 'no snapshot nothing' $W/said
          albumfs mount -q --password-file $P --at first $S $M
          sums $M | diff $W/before -; test ! -e $M/Other
          ! touch $M/x 2> /dev/null
          ls -i $M > /dev/null; albumfs status $M | grep -q 'as of the snapshot first'
          albumfs export -q $M/Trip/Photo $W/out; cmp "$(find $W/out -name a.jpg | head -n 1)" $M/Trip/Photo/a.jpg
          albumfs umount -q $M; (cd $S; find . -type f | sort | xargs sha256sum) | diff $W/store -
          albumfs mount -q --password-file $P $S $M; test ! -e $M/Trip; test -e $M/Other
          """)
    }
  }

  /// Windows asks a server in the same way for the previous versions of a file.
  @Test(.enabled(if: Self.hasSamba, "needs samba and smbclient"))
  func sambaShowsPreviousVersions() throws {
    let page = try String(contentsOfFile: Self.page, encoding: .utf8)
    let recipe = try #require(page.components(separatedBy: "```ini\n").dropFirst().first)
    let lines = recipe.components(separatedBy: "```")[0]
    try withPhotos { mounted in
      try mounted.write(Data(lines.utf8), "recipe")
      try mounted.sh(
        """
        cp $M/Trip/Photo/a.jpg $W/a; rm $M/Trip/Photo/b.jpg; echo new > $M/Trip/Photo/a.jpg
        D=$W/samba; mkdir -p $D; PORT=$((20000 + RANDOM % 20000))
        { printf '%s\\n' '[global]' 'server role = standalone server' 'map to guest = Bad User' \
            "guest account = $(id -un)" "smb ports = $PORT" 'interfaces = lo' 'bind interfaces only = yes' \
            'disable netbios = yes'
          for kind in 'private dir' 'lock directory' 'state directory' 'cache directory' 'pid directory'; do
            echo "$kind = $D"; done
          echo "log file = $D/log"; echo '[album]'; echo "path = $M"; echo 'guest ok = yes'; cat $W/recipe
        } > $D/smb.conf
        smbd --foreground --no-process-group -s $D/smb.conf > $D/out 2>&1 & SMBD=$!
        trap 'kill $SMBD || true; wait $SMBD || true' EXIT
        ask() { smbclient -N -p $PORT //127.0.0.1/album -c "$1"; }
        await "smbclient -N -p $PORT //127.0.0.1/album -c ls > /dev/null 2>&1"
        ask 'allinfo Trip/Photo/a.jpg' > $W/said
        V=$(grep -o '@GMT[^ ]*' $W/said | head -n 1)
        ask "get $V\\\\Trip\\\\Photo\\\\a.jpg $W/back" > /dev/null 2>&1; cmp $W/a $W/back
        ask "ls $V\\\\Trip\\\\Photo\\\\*" | grep -q b.jpg
        test -z "$(ask ls | grep snapshots || true)"
        """)
    }
  }

  /// A program of the user's encrypts in place, renames, removes and fills the disk.
  @Test(
    .enabled(if: SmallDisk.isPossible, "needs root and loop devices"), arguments: [true, false])
  func oneCommandTakesADisasterBack(_ isNamedByStatus: Bool) throws {
    let disk = try SmallDisk(.tmpfs)
    defer { disk.remove() }
    try MountedStore.use(
      initOptions: ["--chaff", "0"], storeIn: disk.path, delays: "room=0,housekeeping=0.2"
    ) { mounted in
      try mounted.sh(
        Self.sums + """

          mkdir $M/Trip $M/.papers
          for n in $(seq 1200); do echo "paper $n" > $M/.papers/$n; done
          for n in $(seq 20); do head -c 20000 /dev/urandom > $M/Trip/Photo/$n.bin; done
          albumfs sync -q $M; sums $M > $W/before
          """)
      try mounted.sh(
        """
        cd $M/.papers; for n in $(seq 1200); do printf CRYPT | dd of=$n conv=notrunc status=none; done
        for n in $(seq 1 3 1200); do mv $n $n.locked; done; for n in $(seq 2 3 1200); do rm $n; done
        cd $M/Trip/Photo; for n in $(seq 20); do head -c 100 /dev/urandom > x; mv x $n.bin; done
        cd /; rm -r $M/Trip
        ! head -c 4G /dev/zero > $M/.papers/full 2> /dev/null
        """)
      let undo =
        isNamedByStatus
        ? """
        albumfs status $M > $W/said; grep -q '^Burst: ' $W/said
        eval "$(sed -n 's/.*To bring them back: //p' $W/said)" 2> $W/notes
        """ : "albumfs snapshot restore $M 1h 2> $W/notes"
      try mounted.sh(
        undo + """

          # Every byte is back, under its name or beside what has it now.
          (cd $M; find . -type f | xargs -d '\\n' sha256sum | cut -d ' ' -f 1 | sort -u) > $W/after
          test -z "$(cut -d ' ' -f 1 $W/before | sort -u | comm -23 - $W/after)"
          """)
    }
  }
}
