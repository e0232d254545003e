import AlbumTestSupport
import Foundation
import Testing

/// The traces of a mount outside of it: in the mount table, and in the files of the real tumbler and gvfs.
@Suite(.serialized, .timeLimit(.minutes(30))) struct TraceTests {
  private static let tumbler = "/usr/lib/x86_64-linux-gnu/tumbler-1/tumblerd"
  private static let gvfs = "/usr/libexec/gvfsd-metadata"

  private static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path)
  }

  /// A shell function that fails if a text is in files. (`set -e` ignores a command after `!`.)
  private static let absent = """
    absent() { if grep -qF "$@"; then echo "found: $*"; return 1; fi; }

    """

  // MARK: The mount table

  @Test(arguments: MountedStore.Person.allCases)
  func noTableShowsWhereTheStoreIs(person: MountedStore.Person) throws {
    try MountedStore.use(as: person) { mounted in
      try mounted.sh(
        TraceTests.absent + """
          test "$(grep " $M " /proc/mounts | cut -d' ' -f1)" = albumfs
          absent "$S" /proc/mounts /proc/self/mountinfo
          test "$(df --output=source $M | tail -1)" = albumfs
          albumfs status $M | grep -qx "Store:       $S"
          albumfs list | grep -qx "$M\t$S\tmounted\tprocess [0-9]*"
          """)
    }
  }

  @Test func theSourceCanBeChosen() throws {
    try MountedStore.use(mountOptions: ["-o", "noatime,fsname=photos"]) { mounted in
      try mounted.sh(
        "grep -q \"^photos $M fuse.albumfs .*noatime\" /proc/mounts; albumfs list | grep -q \"$M\t$S\t\""
      )
    }
  }

  /// Only its user and root can ask a daemon, and nobody can ask a dead one.
  @Test func theStoreOfAnotherUsersMountIsNotShown() throws {
    try MountedStore.use(as: .tester) { mounted in
      let listed = try mounted.outcome(as: .ordinary, "albumfs list | grep \"$M\t\"")
      if geteuid() == 0 {
        #expect(listed.output.contains("\tstore unknown\t"))
        #expect(!listed.output.contains(mounted.store))
      }
      try mounted.kill()
      try mounted.sh("albumfs list | grep -q \"$M\tstore unknown\tdead\t\"; albumfs umount $M")
    }
  }

  // MARK: Traces

  /// Writes a list of recently used files with an entry of the mount and one of a neighbour.
  private static let recent = """
    mkdir -p $W/.local/share
    printf '<xbel>\\n  <bookmark href="file://%s/a.jpg"/>\\n  <bookmark href="file://%s2/a.jpg"/>\\n</xbel>\\n' \
      $M $M > $W/.local/share/recently-used.xbel

    """

  @Test func umountNamesTheTracesThatStayAndRemovesThemOnRequest() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.sh(
      TraceTests.absent + TraceTests.recent + """
        albumfs mount --password-file $P $S $M
        test "$(albumfs traces $M)" = "$(albumfs traces $S)"
        albumfs umount $M 2> $W/said
        grep -q "1 recently used file. To remove: albumfs traces $M --clean" $W/said
        albumfs mount --password-file $P $S $M
        albumfs umount -q $M 2> $W/said; test ! -s $W/said
        albumfs mount --password-file $P $S $M
        albumfs umount --clean-traces $M
        absent "$M/" $W/.local/share/recently-used.xbel
        grep -F "${M}2/a.jpg" $W/.local/share/recently-used.xbel
        test "$(albumfs traces $M 2>&1)" = "No traces found."
        """)
  }

  @Test(.enabled(if: TraceTests.exists(TraceTests.tumbler), "needs the package tumbler"))
  func tumblersThumbnailsAreFoundAndRemoved() throws {
    try MountedStore.use { mounted in
      let picture = try mounted.write(
        Data(try TestPictures.jpeg(orientation: 1)), "picture.jpg")
      try mounted.sh(
        """
        mkdir "$M/My Trip" $W/near
        cp '\(picture)' "$M/My Trip/Photo/a.jpg"; cp '\(picture)' $W/near/a.jpg
        cat > $W/thumbnail <<'END'
        export GVFS_DISABLE_FUSE=1
        \(TraceTests.tumbler) 2>/dev/null & pid=$!
        gdbus wait --session --timeout 300 org.freedesktop.thumbnails.Thumbnailer1
        T=org.freedesktop.thumbnails.Thumbnailer1
        gdbus call --session --dest $T --object-path /org/freedesktop/thumbnails/Thumbnailer1 \\
          --method $T.Queue "['file://${M}/My%20Trip/Photo/a.jpg', 'file://$W/near/a.jpg']" \\
          "['image/jpeg', 'image/jpeg']" normal foreground 0
        \(Waiting.shell)
        await '[ "$(ls $W/.cache/thumbnails/normal | wc -l)" = 2 ]'
        kill $pid
        END
        dbus-run-session -- bash $W/thumbnail > /dev/null 2>&1 || true
        test "$(ls $W/.cache/thumbnails/normal | wc -l)" = 2
        albumfs traces $M | grep -qx "thumbnail: My Trip/Photo/a.jpg, in $W/.cache/thumbnails/normal/.*png"
        albumfs traces $M --clean
        test "$(ls $W/.cache/thumbnails/normal | wc -l)" = 1
        grep -qF "$W/near/a.jpg" $W/.cache/thumbnails/normal/*
        """)
    }
  }

  /// tumbler makes thumbnails everywhere but in the mount, in both spellings, until that is taken back.
  @Test(.enabled(if: TraceTests.exists(TraceTests.tumbler), "needs the package tumbler"))
  func tumblerLeavesAMountAloneAfterExclude() throws {
    try MountedStore.use { mounted in
      let picture = try mounted.write(
        Data(try TestPictures.jpeg(orientation: 1)), "picture.jpg")
      try mounted.sh(
        """
        mkdir "$M/My Trip" $W/near; ln -s $M $W/link
        cp '\(picture)' "$M/My Trip/Photo/a.jpg"
        cat > $W/thumbnail <<'END'
        export GVFS_DISABLE_FUSE=1
        \(TraceTests.tumbler) 2>/dev/null & pid=$!
        gdbus wait --session --timeout 300 org.freedesktop.thumbnails.Thumbnailer1
        T=org.freedesktop.thumbnails.Thumbnailer1
        queue() {
          gdbus call --session --dest $T --object-path /org/freedesktop/thumbnails/Thumbnailer1 \\
            --method $T.Queue "[$1]" "[$2]" normal foreground 0
        }
        \(Waiting.shell)
        queue "'file://$M/My%20Trip/Photo/a.jpg', 'file://$W/link/My%20Trip/Photo/a.jpg', 'file://$W/near/$1.jpg'" \\
          "'image/jpeg', 'image/jpeg', 'image/jpeg'"
        await "grep -qsaF 'near/$1.jpg' $W/.cache/thumbnails/normal/*"
        # tumbler takes one request after the other.
        queue "'file://$W/near/$1-later.jpg'" "'image/jpeg'"
        await "grep -qsaF 'near/$1-later.jpg' $W/.cache/thumbnails/normal/*"
        kill $pid
        END
        # How many thumbnails of the mount there are, after tumbler made one of a neighbour.
        made() {
          cp '\(picture)' $W/near/$1.jpg; cp '\(picture)' $W/near/$1-later.jpg
          dbus-run-session -- bash $W/thumbnail $1 > /dev/null 2>&1 || true
          grep -qaF "near/$1.jpg" $W/.cache/thumbnails/normal/*
          grep -laF My%20Trip -r $W/.cache/thumbnails | wc -l
        }
        albumfs traces $W/link --exclude 2> $W/said; grep -q "$W/.config/tumbler/tumbler.rc" $W/said
        test "$(grep -c "Excludes=.*$M;" $W/.config/tumbler/tumbler.rc)" -gt 2
        test "$(made one)" = 0
        albumfs traces $M --exclude 2>&1 | grep already
        albumfs traces $W/link --include; test ! -e $W/.config/tumbler/tumbler.rc
        test "$(made two)" = 2
        # Settings of the user's own stay.
        printf '# mine\\n[JPEGThumbnailer]\\nExcludes=/mnt\\n' > $W/own; cp $W/own $W/.config/tumbler/tumbler.rc
        albumfs traces $M --exclude; grep -qx "Excludes=/mnt;$M" $W/.config/tumbler/tumbler.rc
        albumfs traces $M --include; cmp $W/own $W/.config/tumbler/tumbler.rc
        for words in "--include --exclude" "--clean --exclude" "--json --include"; do
          code=0; albumfs traces $M $words 2> /dev/null || code=$?; [ $code = 1 ]
        done
        """)
    }
  }

  @Test(.enabled(if: TraceTests.exists(TraceTests.gvfs), "needs the package gvfs-daemons"))
  func nothingOfTheMountStaysInGvfsFiles() throws {
    try MountedStore.use { mounted in
      try mounted.sh(
        TraceTests.absent + """
          export GVFS_DISABLE_FUSE=1
          mkdir $M/Trip $W/near; touch $M/Trip/Photo/a.jpg $W/near/b.jpg
          cat > $W/rate <<'END'
          gio set $M/Trip/Photo/a.jpg metadata::rating five
          gio set $W/near/b.jpg metadata::rating four
          albumfs traces $M || echo failed
          $1
          gio info -a metadata:: $W/near/b.jpg
          END
          # In one session with the daemon, and in one that has no daemon any more.
          dbus-run-session -- bash $W/rate 'albumfs traces $M --clean' > $W/said 2>/dev/null
          dbus-run-session -- bash -c 'albumfs traces $M --clean'
          grep -q "^metadata: Trip/Photo/a.jpg, in $W/.local/share/gvfs-metadata/root-.*log" $W/said
          absent "$M" -r $W/.local/share/gvfs-metadata
          absent a.jpg -r $W/.local/share/gvfs-metadata
          dbus-run-session -- gio info -a metadata:: $W/near/b.jpg | grep -q 'rating: four'
          dbus-run-session -- gio set $M/Trip/Photo/a.jpg metadata::rating six
          grep -r a.jpg $W/.local/share/gvfs-metadata > /dev/null
          # Each session's daemon outlives it, and beside one albumfs starts no other.
          for p in $(pgrep -x gvfsd-metadata); do
            if tr '\\0' '\\n' < /proc/$p/environ | grep -qx "W=$W"; then kill -9 $p; await ended $p; fi
          done
          if pgrep -r S,R,D -x gvfsd-metadata; then exit 0; fi
          env -u DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR= albumfs traces $M --clean
          if pgrep -r S,R,D -x gvfsd-metadata; then exit 1; fi
          absent a.jpg -r $W/.local/share/gvfs-metadata
          """)
    }
  }

  // MARK: browse

  @Test func browsedProgramsKeepTheirFilesInTheSpace() throws {
    try MountedStore.use { mounted in
      try mounted.sh(
        """
        cat > $W/viewer <<'END'
        #!/bin/sh
        for d in $XDG_CACHE_HOME $XDG_DATA_HOME $XDG_STATE_HOME; do mkdir -p $d/viewer; echo x > $d/viewer/f; done
        echo "$XDG_DATA_DIRS" > $W/dirs; echo "$@" > $W/words; mktemp > $W/temporary; exit 7
        END
        chmod +x $W/viewer
        albumfs browse $M -- $W/viewer --flag $M && exit 1; test $? = 7
        test "$(cat $W/words)" = "--flag $M"
        cd $M/.albumfs-browse; test "$(stat -c %a . cache tmp | tr -d '\\n')" = 700700700
        test "$(ls -A | tr '\\n' ' ')" = "cache data state tmp "
        ls cache/viewer/f data/viewer/f state/viewer/f; ls $(cat $W/temporary) | grep "^$M/.albumfs-browse/tmp/"
        grep -q "^$W/.local/share:" $W/dirs
        cd /; albumfs browse $M -- $W/viewer || true
        """)
      #expect(try mounted.status().albums == 0)
    }
  }

  /// The services of its session outlive the program, with files open in the space.
  @Test(.enabled(if: TraceTests.exists(TraceTests.gvfs), "needs the package gvfs-daemons"))
  func whatABrowsedProgramStartedDoesNotKeepTheMountBusy() throws {
    try MountedStore.use { mounted in
      try mounted.sh(
        """
        touch $M/a.jpg
        albumfs browse $M -- gio set $M/a.jpg metadata::rating five
        ls $M/.albumfs-browse/data/gvfs-metadata/root
        test ! -e $W/.local/share/gvfs-metadata
        albumfs umount $M; albumfs mount --password-file $P $S $M
        """)
    }
  }

  @Test func aLinkInTheSpaceDoesNotLeadProgramsOutside() throws {
    try MountedStore.use { mounted in
      let outcome = try mounted.outcome(
        "mkdir $W/out; ln -s $W/out $M/.albumfs-browse; albumfs browse $M -- true")
      #expect(outcome.code == 11 && outcome.errors.contains("a symbolic link"), "\(outcome)")
      #expect(try mounted.sh("ls -A $W/out") == "")
    }
  }

  @Test func aReadOnlySpaceAndAMissingProgramAreNamed() throws {
    try MountedStore.use(mountOptions: ["--read-only"]) { mounted in
      let outcome = try mounted.outcome("albumfs browse $M -- true")
      #expect(outcome.code == 10)
    }
    try MountedStore.use { mounted in
      let outcome = try mounted.outcome("albumfs browse $M -- no-such-program")
      #expect(outcome.code == 1 && outcome.errors.contains("no-such-program"))
    }
  }
}
