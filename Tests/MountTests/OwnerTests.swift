import AlbumTestSupport
import Foundation
import Testing

/// The owners of the files of a mount: a store moves between users and machines, and root uses it too.
@Suite(.serialized, .enabled(if: geteuid() == 0, "is about several users"))
struct OwnerTests {
  /// Users that every Debian has, because fusermount3 wants a name: bin (2) and sys (3), each with a group of
  /// the same number. `as USER COMMAND…` runs a command as a user of that number; `in GROUP USER COMMAND…` as
  /// a user in a group.
  static let users = """
    as() { local user=$1; shift; setpriv --reuid=$user --regid=$user --clear-groups "$@"; }
    within() { local group=$1 user=$2; shift 2; setpriv --reuid=$user --regid=$user --groups=$group "$@"; }
    point() { install -d -o $1 -g $1 $W/at$1; echo $W/at$1; }

    """

  /// Runs `body` with the store of an ordinary user, number 65534, which has an album and files.
  private func withStore(_ body: (MountedStore, _ root: (String) throws -> String) throws -> Void)
    throws
  {
    let mounted = try MountedStore(as: .ordinary)
    defer { mounted.abandon() }
    try mounted.mount()
    try mounted.sh(
      """
      mkdir $M/A $M/.plain; echo old > $M/A/Photo/old; echo secret > $M/.plain/secret
      chmod 600 $M/.plain/secret; ln -s old $M/A/Photo/link; echo run > $M/.plain/run; chmod 4755 $M/.plain/run
      """)
    try mounted.unmount()
    try body(mounted) { script in
      let outcome = try mounted.outcome(as: .tester, Self.users + script)
      guard outcome.code == 0 else {
        throw MountedStore.Failed(
          description: "\(outcome.code): \(outcome.output)\(outcome.errors)")
      }
      return outcome.output
    }
  }

  /// Mounts as that user, runs a script with `$M` as the mount point, and unmounts.
  private static func mounting(
    as user: Int, with options: String = "", store: String = "$W/store", _ script: String
  )
    -> String
  {
    """
    M=$(point \(user)); as \(user) albumfs mount \(options) --password-file $P \(store) $M
    trap 'echo "failed: $BASH_COMMAND" >&2; as \(user) albumfs umount -q --lazy $M || true' ERR
    \(script)
    as \(user) albumfs umount $M

    """
  }

  @Test func theUserWhoMountsAStoreOfAnotherOwnsAllOfIt() throws {
    try withStore { _, root in
      let move = "cp -a $S $W/store; chown -R 2:2 $W/store\n"
      _ = try root(
        move
          + Self.mounting(
            as: 2,
            """
            as 2 bash -ec '
              test "$(find $0 -printf "%U:%G\\n" | sort -u)" = 2:2
              cat $0/A/Photo/old $0/.plain/secret > /dev/null
              echo more >> $0/A/Photo/old; chmod 640 $0/.plain/secret; touch -d 2020-02-02 $0/A
              mv $0/A/Photo/old $0/A/Photo/new; mkdir $0/B; echo made > $0/B/Photo/made; ln -s x $0/B/l
              chown 2:2 $0/A/Photo/new $0/B; chown -h 2 $0/B/l; rm $0/A/Photo/link
              if chown 65534 $0/A/Photo/new 2> /dev/null; then exit 1; fi
              if chgrp 65534 $0/A/Photo/new 2> /dev/null; then exit 1; fi
              if [ "$(stat -c %a $0/.plain/run)" != 4755 ]; then exit 1; fi
              chown 2 $0/.plain/run; test "$(stat -c %a $0/.plain/run)" = 755
              chmod 0 $0/.plain/run; if cat $0/.plain/run 2> /dev/null; then exit 1; fi
              rm $0/.plain/run' $M
            """))
      // Root's mount shows the stored owners: the old owner of old files, and the new one of new files.
      let stored = try root(
        Self.mounting(
          as: 0, "find $M -printf '%P %U:%G\\n' | grep -v Thumb | sort"))
      #expect(
        stored == """
           65534:65534
          .plain 65534:65534
          .plain/secret 65534:65534
          A 65534:65534
          A/Photo 65534:65534
          A/Photo/new 65534:65534
          B 2:2
          B/Photo 2:2
          B/Photo/made 2:2
          B/l 2:2

          """)
    }
  }

  @Test func ownersCanBeKeptMappedAndChosen() throws {
    try withStore { _, root in
      _ = try root(
        "cp -a $S $W/store; chown -R 2:2 $W/store\n"
          + Self.mounting(
            as: 2, with: "--owner keep",
            """
            as 2 test "$(as 2 stat -c %u:%g $M/A)" = 65534:65534
            if as 2 touch $M/A/x 2> /dev/null; then exit 1; fi
            """)
          + Self.mounting(as: 0, with: "--owner map", "test \"$(stat -c %u:%g $M/A)\" = 0:0")
          + Self.mounting(
            as: 0, with: "--allow-other -o uid=4800,gid=4801",
            """
            test "$(stat -c %u:%g $M/A $M/.plain/secret | sort -u)" = 4800:4801
            as 4800 bash -ec 'cat $0/.plain/secret; echo mine > $0/A/Photo/mine; chown 4800:4801 $0/A' $M
            if as 2 cat $M/.plain/secret 2> /dev/null; then exit 1; fi
            chown 4800 $M/A; if chown 65534 $M/A 2> /dev/null; then exit 1; fi
            """)
          // This is how to change owners for good.
          + Self.mounting(
            as: 0, "test \"$(stat -c %u:%g $M/A/Photo/mine)\" = 4800:4801; chown -R 2:2 $M")
          + Self.mounting(
            as: 2, with: "--owner keep",
            "test \"$(as 2 find $M -printf '%U:%G\\n' | sort -u)\" = 2:2; as 2 touch $M/A/x"
          ))
    }
  }

  /// A group of the user is shown as it is stored, so that `rsync -a` keeps groups and has nothing to do
  /// twice.
  @Test func groupsOfTheUserWhoMountsAreKept() throws {
    try withStore { _, root in
      _ = try root(
        """
        cp -a $S $W/store; chown -R 2:2 $W/store
        M=$(point 2); within 4800 2 albumfs mount --password-file $P $W/store $M
        trap 'echo "failed: $BASH_COMMAND" >&2; as 2 albumfs umount -q --lazy $M || true' ERR
        install -d -o 2 $W/from; echo x > $W/from/x; chown -R 2:4800 $W/from
        within 4800 2 bash -ec '
          mkdir $1/.to; rsync -a $0/ $1/.to/; test "$(stat -c %u:%g $1/.to/x $1/A)" = "2:4800
        2:2"
          test -z "$(rsync -ai $0/ $1/.to/)"' $W/from $M
        as 2 albumfs umount $M
        """)
    }
  }

  @Test func filesOfAStoreStayTheOwnersWhenRootWrites() throws {
    try withStore { mounted, root in
      _ = try root(
        "find $S/segments -type d -empty -delete\n"
          + Self.mounting(
            as: 0, store: "$S",
            "cp -r /usr/share/common-licenses $M/L; head -c 5M /dev/urandom > $M/A/Photo/big")
            + """
            echo other > $W/../password2
            albumfs space password -q --password-file $P --new-password-file $W/../password2 $S
            echo third > $W/../password3; albumfs space add -q --password-file $W/../password3 $S
            albumfs chaff add -q $S 3M
            albumfs check --password-file $W/../password2 $S
            test -z "$(find $S ! -user 65534 -o ! -group 65534 -o -perm /077)"
            """)
      try mounted.mount(password: "other")
      try mounted.sh("cat $M/A/Photo/big > /dev/null; echo more > $M/A/Photo/more; rm -r $M/L")
      try mounted.unmount()
      try mounted.mount(password: "third")
      try mounted.unmount()
    }
  }

  @Test func aStoreOfAGroupWorksForAllOfItInBothDirections() throws {
    try withStore { _, root in
      let mount = { (user: Int, file: String, script: String) in
        """
        M=$(point \(user)); within 4800 \(user) albumfs mount --password-file \(file) $D $M
        trap 'echo "failed: $BASH_COMMAND" >&2; as \(user) albumfs umount -q --lazy $M || true' ERR
        within 4800 \(user) bash -ec '\(script)' $M
        touch $W/marker
        within 4800 \(user) albumfs umount $M

        """
      }
      _ = try root(
        """
        D=$W/ours; install -d -m 2770 -o 2 -g 4800 $D
        echo new > $W/new; echo bert > $W/bert; chmod 644 $W/new $W/bert
        within 4800 2 albumfs init -q --kdf interactive --segment-size 1M --password-file $P $D

        """
          + mount(2, "$P", "mkdir $0/A; head -c 3M /dev/urandom > $0/A/Photo/anna")
          + mount(
            3, "$P",
            """
            sum=$(md5sum < $0/A/Photo/anna); echo bert > $0/A/Photo/bert; mv $0/A/Photo/anna $0/A/Photo/ours
            head -c 3M /dev/urandom > $0/A/Photo/big; test "$(md5sum < $0/A/Photo/ours)" = "$sum"
            """)
            // The times of Anna's files do not show which of them Bert changed: all have changed alike.
            + """
            test -z "$(find $D/segments -type d -user 2 ! -newer $W/marker)"
            test "$(find $D/segments -type f -user 2 -printf '%A@ %T@\\n' | awk '{ print $1 == $2 }' | sort -u | wc -l)" = 1
            test -z "$(find $D/segments -type f -user 3 -printf '%A@ %T@\\n' | awk '$1 != $2')"
            within 4800 3 albumfs space password -q --password-file $P --new-password-file $W/new $D
            within 4800 3 albumfs space add -q --password-file $W/bert $D

            """
          + mount(
            2, "$W/new",
            "cat $0/A/Photo/* > /dev/null; rm $0/A/Photo/big; echo more > $0/A/Photo/more")
          + mount(2, "$W/bert", "mkdir $0/B")
            + """
            within 4800 3 albumfs chaff add -q $D 2M
            within 4800 2 albumfs space password -q --password-file $W/new --new-password-file $P $D

            """
          + mount(3, "$P", "cat $0/A/Photo/* > /dev/null; echo again > $0/A/Photo/again")
            + """
            within 4800 3 albumfs check --password-file $P $D
            within 4800 2 albumfs check --password-file $W/bert $D
            test -z "$(find $D ! -group 4800 -o -type f ! -perm 660 -o -type d ! -perm 2770)"
            test "$(find $D -type f -printf '%U\\n' | sort -u | xargs)" = "2 3"
            """)
    }
  }

  @Test func aUserWithoutRightsToAStoreLearnsWhatToDo() throws {
    try withStore { mounted, root in
      let failure = { (script: String) in
        let outcome = try mounted.outcome(as: .tester, Self.users + script)
        #expect(outcome.code == 23, "\(outcome)")
        return outcome.errors
      }
      let mount = "as 2 albumfs mount --password-file $P $S $(point 2)"
      let closed = try failure(mount)
      #expect(closed.contains("cannot be opened") && closed.contains("chmod -R g+rwX"), "\(closed)")
      _ = try root("chgrp -R 2 $S; chmod -R g+rX $S")
      let unwritable = try failure(mount)
      #expect(unwritable.contains("You may not write to this store"), "\(unwritable)")
      #expect(unwritable.contains("Use --read-only, or "), "\(unwritable)")
      _ = try root(
        Self.mounting(as: 2, with: "--read-only", store: "$S", "as 2 cat $M/A/Photo/old"))
      // An earlier albumfs, or another program of root, may have left it so.
      _ = try root("chown 0:0 $S/keys; chmod 600 $S/keys")
      let taken = try failure("as 65534 albumfs mount --password-file $P $S $(point 65534)")
      #expect(taken.contains("sudo chown -R nobody: \(mounted.store)"), "\(taken)")
    }
  }
}
