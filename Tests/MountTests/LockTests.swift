import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// A space is unmounted when nobody uses it or when the user locks it, and never under an open file. albumfs
/// names the processes that still have files open.
@Suite(.serialized, .timeLimit(.minutes(30))) struct LockTests {
  private func withStore(
    as person: MountedStore.Person = .tester, _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore(as: person)
    defer { mounted.abandon() }
    try body(mounted)
  }

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  private let gone =
    "await '! grep -q \" $M \" /proc/self/mounts'"

  @Test(arguments: MountedStore.Person.allCases)
  func anIdleSpaceIsUnmountedAndNeverUnderAnOpenFile(person: MountedStore.Person) throws {
    try withStore(as: person) { mounted in
      try mounted.sh(
        """
        cp -a $S $W/copy
        # Waits until an idle space was unmounted that was used later, and may be idle for longer. It looks at
        # the table of mounts: a look at the mount point would be a use.
        wait_for_another() {
          await albumfs mount -q --idle 3s --password-file $P $W/copy ${M}2
          await '! grep -q " ${M}2 " /proc/self/mounts'
        }
        albumfs mount -q --idle 2s --password-file $P $S $M
        echo kept > $M/file; exec 7< $M/file
        wait_for_another; mountpoint -q $M; test "$(cat <&7)" = kept
        exec 7<&-; \(gone)
        # A program that works in it keeps it, too. The daemon of the first mount may still be ending.
        await albumfs mount -q --idle 2s --password-file $P $S $M
        ( cd $M; wait_for_another; mountpoint -q $M; test "$(cat file)" = kept )
        \(gone)
        """)
    }
  }

  /// Tools that restore or synchronise a file rename a new one to its name.
  @Test func aSpaceWhoseConfsAreReplacedIsNotWrittenByTwoSessions() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.sh(
      """
      trap 'umount -l $W/two 2>/dev/null || true' EXIT
      replace() { for f in albumfs.conf albumfs.conf.bak; do cp -a $S/$f $S/x; mv $S/x $S/$f; done; }
      mount() { albumfs mount -q --grace 0 --password-file $P $S $1; }
      mount $M; mkdir $M/.p; for i in 0 1 2 3; do head -c 300000 /dev/urandom > $M/.p/$i; done
      sync $M/.p; (cd $M/.p; cksum *) > $W/before
      # A session that writes takes the lock anew.
      replace; echo more > $M/.p/4; sync $M/.p
      code=0; mount $W/two || code=$?; test $code = 40
      # One that comes too late writes no more, and removes nothing of the other's.
      # The first may write something of its own just then, and have the lock again.
      await 'replace && mount $W/two'
      rm $W/two/.p/0; echo theirs > $W/two/.p/1
      code=0; { echo mine > $M/.p/2 && sync $M/.p; } 2>/dev/null || code=$?; test $code = 1
      albumfs status $M | grep -q 'another session'
      albumfs compact $W/two; albumfs umount $W/two; albumfs umount $M || true
      mount $M; test ! -e $M/.p/0; test $(cat $M/.p/1) = theirs; test $(cat $M/.p/4) = more
      (cd $M/.p; cksum 2 3) | diff - <(tail -n 2 $W/before); albumfs umount $M
      albumfs check --password-file $P $S
      """)
  }

  @Test func theMountOfACopyIsNotNamedAsTheOneInTheWay() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    let refused = try mounted.outcome(
      """
      mount() { albumfs mount -q --password-file $P "$@"; }
      cp -a $S $W/copy; mount --read-only $W/copy $W/copied; trap 'albumfs umount $W/copied' EXIT
      mount $S $M; exec 7< $M; umount -l $M; mount $S $M
      """)
    #expect(refused.code == 40 && !refused.errors.contains("copied ("), "\(refused.errors)")
    #expect(refused.errors.contains("a program still has files open"))
  }

  @Test func lockUnmountsASpaceInUseAndListNamesTheProcessesThatKeepIt() throws {
    try withStore { mounted in
      try mounted.sh("albumfs mount -q --password-file $P $S $M; echo kept > $M/file")
      let daemon = try mounted.status().pid
      let told = try mounted.sh(
        """
        exec 7< $M/file
        code=0; albumfs lock $M 2> $W/told || code=$?; [ $code = 46 ]; cat $W/told
        ! mountpoint -q $M; test "$(cat <&7)" = kept
        albumfs list; albumfs list --json > $W/json
        code=0; albumfs mount --password-file $P $S $M 2> $W/again || code=$?; [ $code = 40 ]
        cat $W/again
        exec 7<&-
        """)
      #expect(told.contains("bash ("), "\(told)")
      #expect(
        told.contains(
          "\(mounted.mountPoint)\t\(mounted.store)\tunmounted, still open\tprocess \(daemon)"))
      #expect(told.contains("has a file open in it"), "\(told)")
      #expect(told.contains("was unmounted from \(mounted.mountPoint)"), "\(told)")
      #expect(try mounted.sh("cat $W/json").contains("\"users\""))
      // The keys go with the process, as soon as the last file is closed.
      try mounted.sh("await ended \(daemon)")
      try mounted.sh(
        "albumfs mount -q --password-file $P $S $M; albumfs lock $M; ! mountpoint -q $M")
    }
  }

  /// A copy has no file open between two of its files. Here the file is on its way through a socket at many
  /// moments: it keeps the mount busy, and no process has it.
  @Test func umountNamesAProgramThatHasAFileOpenNowAndThen() throws {
    try withStore { mounted in
      try mounted.mount()
      try mounted.sh(
        """
        echo kept > $M/file
        cat > $W/copier.py <<'END'
        import os, socket, sys
        \(Waiting.python)
        here, there = socket.socketpair()
        file = os.open(sys.argv[1], os.O_RDONLY)
        print("open", flush=True)
        while True:
            socket.send_fds(here, [b"x"], [file])
            os.close(file)
            be_slow(0.06)
            file = socket.recv_fds(there, 1, 1)[1][0]
            be_slow(0.04)
        END
        /usr/bin/python3 $W/copier.py $M/file > $W/out & copier=$!
        trap 'kill $copier' EXIT
        await 'grep -q open $W/out'
        for try in 1 2 3 4 5; do
          code=0; albumfs umount $M 2> $W/told || code=$?; [ $code != 0 ]
          grep -q "python3 ($copier) has open .*/file" $W/told
        done
        """)
    }
  }

  /// A shell whose working directory is in a locked space can open no file there, and does not keep the keys.
  @Test(arguments: MountedStore.Person.allCases)
  func aProgramThatWorksInALockedSpaceOpensNothingAndKeepsNoKeys(person: MountedStore.Person) throws
  {
    try withStore(as: person) { mounted in
      try mounted.sh(
        "albumfs mount -q --password-file $P $S $M; mkdir $M/d; echo kept > $M/d/file; echo x > $M/d/other"
      )
      let daemon = try mounted.status().pid
      try mounted.sh(
        """
        cd $M/d; exec 6< . 7<> file; cat other > /dev/null
        code=0; albumfs lock $M 2> $W/told || code=$?; [ $code = 46 ]
        grep -q 'bash (.*) has open .*/d/file' $W/told; ! mountpoint -q $M
        refused() { code=0; "$@" > $W/out 2>&1 || code=$?; [ $code != 0 ]; grep -q 'key not available' $W/out; }
        refused cat other; refused ls .; refused touch new; refused mkdir new; refused mv other else
        refused rm other; refused ln other else; refused cat /proc/self/fd/7; refused ls /proc/self/fd/6/
        [ "$(cat <&7)" = kept ]; echo more >&7
        exec 7<&-
        await ended \(daemon)
        cd /; exec 6<&-
        albumfs mount -q --password-file $P $S $M
        [ "$(cat $M/d/file)" = "kept
        more" ]
        # Nobody has a file open: it ends at once.
        cd $M/d; albumfs lock $M; cd /; ! mountpoint -q $M
        albumfs mount -q --password-file $P $S $M; albumfs umount $M
        """)
    }
  }

  /// A script function that starts a process in a mount namespace of its own, which keeps none of the spaces of
  /// other tests. It first runs the argument, and the variable `holder` gets its number.
  private let hold = """
    hold() {
      rm -f $W/ready
      unshare --mount --propagation private bash -c '
        for point in $(findmnt -rn -t fuse.albumfs -o TARGET | grep -vxF "$M"); do umount -l $point; done
        eval "$1"; touch $W/ready; exec sleep infinity' hold "$1" &
      holder=$!; trap 'kill -9 $holder 2>/dev/null || true' EXIT
      await test -e $W/ready
    }
    """

  /// The kernel ends a file system with its last mount, and a container or a bind mount may have one.
  @Test(
    .enabled(if: geteuid() == 0, "needs a mount namespace of its own"),
    arguments: ["lock", "umount"])
  func whoeverHasTheSpaceMountedElsewhereKeepsItNotOpen(verb: String) throws {
    try withStore { mounted in
      try mounted.sh("albumfs mount -q --password-file $P $S $M; echo kept > $M/file")
      let daemon = try mounted.status().pid
      let told = try mounted.sh(
        """
        \(hold)
        hold true; mkdir $W/bind; mount --bind $M $W/bind; test "$(cat $W/bind/file)" = kept
        timeout 200 albumfs \(verb) $M 2>&1; ! mountpoint -q $M; await ended \(daemon)
        ! nsenter -t $holder -m cat $M/file; ! cat $W/bind/file
        umount -l $W/bind; echo held by $holder
        """)
      let holder = told.split(separator: " ").last ?? ""
      #expect(told.contains("sleep (\(holder)) has it mounted on \(mounted.mountPoint)"), "\(told)")
      #expect(told.contains("mounted on \(mounted.work)/bind too"), "\(told)")
    }
  }

  @Test(.enabled(if: geteuid() == 0, "needs a mount namespace of its own"))
  func aFileThatIsOpenElsewhereIsNamedAndNothingElseCanBeOpened() throws {
    for verb in ["lock", "umount"] {
      try withStore { mounted in
        try mounted.sh("albumfs mount -q --password-file $P $S $M; echo kept > $M/file")
        let daemon = try mounted.status().pid
        let told = try mounted.sh(
          """
          \(hold)
          hold 'exec 7< $M/file'
          code=0; timeout 200 albumfs \(verb) $M 2>&1 || code=$?; test $code = 46; albumfs list
          ! nsenter -t $holder -m ls $M/ 2> $W/refused; grep -q 'key not available' $W/refused
          echo held by $holder; kill -9 $holder; await ended \(daemon)
          """)
        let holder = told.split(separator: " ").last ?? ""
        #expect(told.contains("sleep (\(holder)) has"), "\(told)")
        #expect(told.contains("(\(holder)) has it mounted on \(mounted.mountPoint)"), "\(told)")
      }
    }
  }

  /// `--all` of another namespace would lock the spaces of other tests.
  @Test(.enabled(if: geteuid() == 0, "needs a mount namespace of its own"))
  func lockAllLocksEverySpaceWhateverKeepsOneOpen() throws {
    try withStore { mounted in
      let told = try mounted.sh(
        """
        cat > $W/inside <<'END'
        set -e
        for point in $(findmnt -rn -t fuse.albumfs -o TARGET); do umount -l $point; done
        mount() { albumfs mount -q --password-file $P $1 $2; }
        albumfs init -q --kdf interactive --segment-size 1M --password-file $P $W/other
        mount $S $M; mkdir $W/newer $W/newest; mount $W/other $W/newer
        \(hold)
        echo kept > $W/newer/file; hold true
        exec 7< $W/newer/file
        code=0; timeout 200 albumfs lock --all 2>&1 || code=$?; test $code = 46
        test -z "$(findmnt -rn -t fuse.albumfs)"; kill -9 $holder
        END
        export -f await
        timeout 600 unshare --mount --propagation private bash $W/inside
        """)
      #expect(told.contains("\(mounted.mountPoint) is locked"), "\(told)")
      #expect(told.contains("newer is locked, and stays open"), "\(told)")
      #expect(told.contains("bash ("), "\(told)")
    }
  }

  /// The daemon lives in the namespace too, and must not keep its own mount alive.
  @Test(.enabled(if: geteuid() == 0, "needs a mount namespace of its own"))
  func aLazyUnmountInANamespaceEndsTheDaemon() throws {
    try withStore { mounted in
      let listed = try mounted.sh(
        """
        cat > $W/inside <<'END'
        albumfs mount -q --password-file $P $S $M; mkdir $M/Trip; echo kept > $M/Trip/note
        albumfs status --json $M > $W/status; umount -l $M
        END
        unshare --mount --propagation private bash -e $W/inside
        daemon=$(sed -n 's/.*"pid" *: *\\([0-9]*\\).*/\\1/p' $W/status); test -n "$daemon"
        await ended $daemon
        albumfs mount -q --password-file $P $S $M; ls $M/Trip; albumfs umount -q $M
        """)
      #expect(listed.contains("note"), "\(listed)")
    }
  }

  /// Desktops show the free room of what is mounted, every few seconds.
  @Test func whoeverLooksAtTheFreeRoomKeepsNoSpaceOpen() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        albumfs mount -q --idle 1s --password-file $P $S $M
        await 'df $M > /dev/null; stat $M > /dev/null; ! grep -q " $M " /proc/self/mountinfo'
        """)
    }
  }

  /// Uses announcements like those of logind on the system bus.
  @Test func theWatchLocksWithTheSessionAndBeforeSleep() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        mkdir $W/fake
        printf '#!/bin/sh\\necho 2' > $W/fake/loginctl
        printf '#!/bin/sh\\necho "o \\\\"/org/freedesktop/login1/session/_32\\\\""' > $W/fake/busctl
        printf '#!/bin/sh\\ncat $W/signals' > $W/fake/gdbus
        # Only spaces of this test: the real command would lock those of other tests.
        printf '#!/bin/sh\\ntest "$*" = "lock --all --quiet" && exec %s lock -q %s' "$(command -v albumfs)" $M > $W/fake/albumfs
        chmod +x $W/fake/*
        """)
      let session = "/org/freedesktop/login1/session"
      let changed =
        "org.freedesktop.DBus.Properties.PropertiesChanged ('org.freedesktop.login1.Session',"
      for (signal, isLocked) in [
        ("\(session)/_33: org.freedesktop.login1.Session.Lock ()", false),
        ("\(session)/_32: org.freedesktop.login1.Session.Unlock ()", false),
        ("\(session)/_32: org.freedesktop.login1.Session.Lock ()", true),
        ("\(session)/_33: \(changed) {'LockedHint': <true>}, @as [])", false),
        ("\(session)/_32: \(changed) {'LockedHint': <false>}, @as [])", false),
        ("\(session)/_32: \(changed) {'LockedHint': <true>}, @as [])", true),
        ("/org/freedesktop/login1: org.freedesktop.login1.Manager.PrepareForSleep (false,)", false),
        ("/org/freedesktop/login1: org.freedesktop.login1.Manager.PrepareForSleep (true,)", true),
      ] {
        try mounted.sh(
          """
          mountpoint -q $M || albumfs mount -q --password-file $P $S $M
          cat > $W/signals <<'END'
          \(signal)
          END
          code=0; PATH=$W/fake:$PATH \(LockTests.root)/scripts/system/albumfs-lock-watch 2> $W/ended || code=$?
          # The watch fails when gdbus ends, so that systemd starts it again.
          test $code = 1; grep -q 'gdbus has ended' $W/ended
          \(isLocked ? "!" : "") mountpoint -q $M
          """)
      }
      try mounted.sh("if mountpoint -q $M; then albumfs umount $M; fi")
    }
  }
}
