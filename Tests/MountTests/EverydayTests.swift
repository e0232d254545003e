import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// Mounting in everyday use. The mount point comes and goes with the mount. Nothing gets into it in between,
/// and `adopt` moves files that did.
@Suite(.serialized, .timeLimit(.minutes(30))) struct EverydayTests {
  private func withStore(
    as person: MountedStore.Person = .tester, _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore(as: person)
    defer {
      _ = try? mounted.sh("albumfs umount -q $W/made 2>/dev/null || true")
      mounted.abandon()
    }
    try body(mounted)
  }

  /// The person's settings. `$W` is the home, and the space belongs on `$W/made`.
  private let settings = """
    mkdir -p $W/.config/albumfs
    printf 'store = %s\\nmountpoint = ~/made\\npassword-file = %s\\n' $S $P > $W/.config/albumfs/config
    """

  @Test(arguments: MountedStore.Person.allCases)
  func aMissingMountPointIsMadeAndRemoved(person: MountedStore.Person) throws {
    try withStore(as: person) { mounted in
      try mounted.sh(
        """
        albumfs mount --password-file $P $S $W/made
        echo kept > $W/made/file
        albumfs umount $W/made; test ! -e $W/made
        # Whoever unmounts.
        albumfs mount -q --password-file $P $S $W/made
        await fusermount3 -u $W/made
        await test ! -e $W/made
        # One of the user stays, and so does one that holds something.
        mkdir $W/made; albumfs mount -q --password-file $P $S $W/made
        test "$(cat $W/made/file)" = kept
        albumfs umount $W/made; rmdir $W/made
        code=0; albumfs mount --password-file $P $S $W/no/such || code=$?; [ $code = 10 ]
        test ! -e $W/no
        code=0; albumfs mount --password-command 'echo wrong' $S $W/made || code=$?; [ $code = 12 ]
        test ! -e $W/made
        """)
    }
  }

  @Test func theMountPointOfAKilledDaemonIsRemovedWhenItIsCleared() throws {
    try withStore { mounted in
      try mounted.sh("albumfs mount -q --password-file $P $S $W/made")
      let daemon = try mounted.status(mounted.work + "/made").pid
      #expect(Glibc.kill(daemon, SIGKILL) == 0)
      try mounted.sh(
        """
        await 'albumfs list | grep -q "made.*dead"'
        albumfs umount $W/made; test ! -e $W/made
        """)
    }
  }

  @Test func whatMountMountsWithoutArgumentsTheOtherCommandsMeanWithoutThem() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        \(settings)
        albumfs init -q $W/second --kdf interactive --chaff 0 --password-file $P
        albumfs mount -q --password-file $P $W/second $M; albumfs mount -q; echo kept > $W/made/file
        albumfs status | grep '^Mounted on: *~/made '; albumfs sync; albumfs compact -q
        albumfs traces; albumfs umount
        ! mountpoint -q $W/made; mountpoint -q $M
        code=0; albumfs umount 2> $W/said || code=$?; [ $code = 41 ]; grep made $W/said
        albumfs mount -q; albumfs lock; ! mountpoint -q $W/made; mountpoint -q $M
        # A first store without a mount point is no default.
        printf 'store = %s\\n' $S > $W/.config/albumfs/config
        code=0; albumfs umount 2> $W/said || code=$?; [ $code = 1 ]; grep config $W/said; mountpoint -q $M
        """)
    }
  }

  @Test func insideAMountedSpaceMountAndInitSayWhereTheyAre() throws {
    try withStore { mounted in
      try mounted.mount()
      for command in [
        "albumfs mount --password-file $P $S $M/Trip", "albumfs init --password-file $P $M/Trip",
        "albumfs init --password-file $P $M/new",
      ] {
        let refused = try mounted.outcome("mkdir -p $M/Trip; \(command)")
        #expect(refused.code == 10, "\(refused)")
        #expect(refused.errors.contains("lies in the space that is mounted on"), "\(refused)")
        #expect(!refused.errors.contains("adopt"), "\(refused)")
      }
      try mounted.unmount()
    }
  }

  @Test func albumsAndFoldersInTheWrongOrderAreRecognised() throws {
    try withStore { mounted in
      try mounted.mount()
      for (words, hint) in [
        ("import $M/Trip $W/card", "album comes last"),
        ("export $W/card $M/Trip", "albums come first"),
      ] {
        let refused = try mounted.outcome("mkdir -p $M/Trip $W/card; albumfs \(words)")
        #expect(refused.code == 1 && refused.errors.contains(hint), "\(refused)")
      }
      try mounted.unmount()
    }
  }

  /// Somebody who waits sees for what.
  @Test func progressNamesTheWork() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        export TERM=xterm
        init="albumfs init $W/new --kdf interactive --password-file $P --chaff 8M"
        script -qec "$init" /dev/null | grep -a 'Writing chaff.*: \\[#*-*\\] .* of 8.0 MiB'
        script -qec "albumfs chaff add $W/new 8M" /dev/null | grep -a 'Writing chaff \\['
        # A terminal that cannot erase a line gets none that would be replaced.
        if TERM=dumb script -qec "albumfs chaff add $W/new 8M" /dev/null | grep -a "$(printf '\\033')"; then exit 1; fi
        """)
    }
  }

  @Test func mountPrintsItsMountPointUnlessQuiet() throws {
    try withStore { mounted in
      let told = try mounted.sh(
        """
        albumfs mount --password-file $P $S $M 2>&1; albumfs umount $M
        albumfs mount -q --password-file $P $S $M > $W/quiet 2>&1; albumfs umount $M
        """)
      #expect(told.contains("Mounted on ") && told.contains("albumfs umount"), "\(told)")
      #expect(try !mounted.sh("cat $W/quiet").contains("Mounted"))
    }
  }

  @Test(arguments: MountedStore.Person.allCases)
  func whatTheSettingsNameIsMountedByItsStoreItsPlaceOrNothing(person: MountedStore.Person) throws {
    try withStore(as: person) { mounted in
      try mounted.sh(settings)
      for words in ["", "$S", "$W/made"] {
        try mounted.sh(
          "albumfs mount \(words); albumfs status $W/made > $W/status; albumfs umount $W/made")
      }
      // Typed options override settings.
      let outcome = try mounted.outcome("albumfs mount --password-command 'echo wrong'")
      #expect(outcome.code == 12, "\(outcome)")
    }
  }

  /// Root may write anywhere.
  @Test(.enabled(if: geteuid() == 0, "becomes an ordinary user"))
  func nothingFallsIntoAMountPointOfTheSettings() throws {
    try withStore(as: .ordinary) { mounted in
      try mounted.sh(settings)
      let attempts = """
        ! touch $W/made/file; ! mkdir $W/made/Trip; ! cp $P $W/made; ! cp -r $W/.config $W/made/
        test "$(ls -A $W/made | wc -l)" = 0
        """
      try mounted.sh(
        "albumfs mount -q; touch $W/made/inside; albumfs umount $W/made; \(attempts)")
      // The same after a kill, without anything to clear.
      try mounted.sh("albumfs mount -q")
      let daemon = try mounted.status(mounted.work + "/made").pid
      #expect(Glibc.kill(daemon, SIGKILL) == 0)
      try mounted.sh(
        """
        await 'albumfs list | grep -q "made.*dead"'
        fusermount3 -uz $W/made; \(attempts)
        albumfs mount -q; test -e $W/made/inside; albumfs umount $W/made
        """)
    }
  }

  @Test(arguments: MountedStore.Person.allCases)
  func whatFellIntoTheMountPointIsNamedAndMovedIn(person: MountedStore.Person) throws {
    try withStore(as: person) { mounted in
      try mounted.sh(
        """
        albumfs mount -q --password-file $P $S $M
        mkdir $M/Trip; echo other > $M/Trip/Photo/taken.jpg; echo same > $M/same.txt
        albumfs umount $M
        mkdir -p $M/Trip/Photo/deep; echo mine > $M/Trip/Photo/taken.jpg; echo same > $M/same.txt
        head -c 3000000 /dev/urandom > $M/Trip/Photo/deep/large.bin; ln -s same.txt $M/link
        touch -d @1000000000 $M/Trip/Photo/deep/large.bin
        sum=$(sha256sum < $M/Trip/Photo/deep/large.bin); echo "$sum" > $W/sum
        mkfifo $M/pipe; ln $M/Trip/Photo/deep/large.bin $M/Trip/other.bin; printf x > "$M/$(printf 'caf\\351')"
        """)
      let refused = try mounted.outcome("albumfs mount --password-file $P $S $M")
      #expect(refused.code == 10)
      for word in [
        "Trip", "link", "NOT encrypted", "albumfs adopt \(mounted.mountPoint) \(mounted.store)",
      ] {
        #expect(refused.errors.contains(word), "\(refused.errors)")
      }
      let adopted = try mounted.outcome("albumfs adopt --password-file $P $M $S")
      #expect(adopted.code == 49 && adopted.errors.contains("pipe"), "\(adopted)")
      #expect(adopted.errors.contains("taken (2).jpg"), "\(adopted)")
      try mounted.sh(
        """
        test "$(cat $M/Trip/Photo/taken.jpg)" = other; test "$(cat "$M/Trip/Photo/taken (2).jpg")" = mine
        test "$(sha256sum < $M/Trip/Photo/deep/large.bin)" = "$(cat $W/sum)"
        test "$(stat -c %Y $M/Trip/Photo/deep/large.bin)" = 1000000000
        test "$(cat "$M/$(printf 'caf\\351')")" = x; test $M/Trip/other.bin -ef $M/Trip/Photo/deep/large.bin
        test "$(readlink $M/link)" = same.txt; test "$(ls -A $M | grep -c adopted-)" = 0
        albumfs umount $M
        test "$(ls -A $M)" = pipe; rm $M/pipe
        albumfs mount -q --password-file $P $S $M; albumfs umount $M
        """)
    }
  }

  @Test func filesThatCannotBeCopiedStayWhereTheyWere() throws {
    try withStore(as: .ordinary) { mounted in
      try mounted.sh("echo small > $M/a; echo secret > $M/b; chmod 000 $M/b")
      let adopted = try mounted.outcome("albumfs adopt --password-file $P $M $S")
      #expect(adopted.code == 49 && adopted.errors.contains("b: Permission denied"), "\(adopted)")
      try mounted.sh(
        "test -e $M/a; albumfs umount $M; test \"$(ls $M)\" = b; chmod 600 $M/b; test \"$(cat $M/b)\" = secret"
      )
    }
  }

  @Test func aCommandThatNeedsASpaceSaysWhereItIsMounted() throws {
    try withStore { mounted in
      try mounted.mount()
      let pid = try mounted.status().pid
      for command in [
        "mount $S $W/made", "check $S", "check --repair $S", "space destroy --yes $S",
      ] {
        let outcome = try mounted.outcome("albumfs \(command) --password-file $P")
        #expect(outcome.code == 40, "\(command)")
        #expect(
          outcome.errors.contains(
            "already mounted on \(mounted.mountPoint) (process \(pid)). Run: albumfs umount \(mounted.mountPoint)"
          ), "\(command): \(outcome.errors)")
      }
      #expect(try mounted.outcome("test -e $W/made").code == 1)
      for command in ["status $S", "umount $S", "sync $S"] {
        let store = try mounted.outcome("albumfs \(command)")
        #expect(store.code == 41 && store.errors.contains("is a store"), "\(store.errors)")
      }
      try mounted.unmount()
    }
  }

  @Test(.enabled(if: geteuid() == 0, "is about two users"))
  func anothersMountIsSaidToBeTheirs() throws {
    try MountedStore.use { mounted in
      let other = "setpriv --reuid=65534 --regid=65534 --clear-groups albumfs umount $M"
      let outcome = try mounted.outcome(other)
      #expect(
        outcome.code == 47 && outcome.errors.contains("a mount of root. Only root can"),
        "\(outcome)")
    }
  }
}
