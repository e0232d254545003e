import AlbumTestSupport
import Testing

/// Two machines mount one store over sshfs, whose locks stay in each kernel. An sftp server of the test's own
/// serves the directory through pipes.
struct NetworkStoreTests {
  /// Two mounts of the store's directory, `$W/a` and `$W/b`, and what a test's script needs.
  private static let share = """
    printf '#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n' >$W/ssh
    chmod +x $W/ssh
    mkdir $W/a $W/b $W/ma $W/mb
    for machine in a b; do
      sshfs -o ssh_command=$W/ssh,entry_timeout=0,attr_timeout=0,dcache_stat_timeout=1,dcache_dir_timeout=1 \
        server:$(dirname $S) $W/$machine
    done
    leave() {
      for machine in a b; do
        timeout 90 albumfs umount -q $W/m$machine || fusermount3 -uz $W/m$machine || true
        fusermount3 -uz $W/$machine || true
      done
    }
    trap leave EXIT
    onto() { albumfs mount -q --password-file $P "${@:2}" $W/$1/store $W/m$1; }
    """

  private func with(_ script: String) throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    mounted.delays = "watch=1"
    try mounted.sh(NetworkStoreTests.share + "\n" + script)
  }

  @Test func ofTwoWritersOneIsStoppedAndWhatWasSyncedStays() throws {
    try with(
      """
      onto a
      mkdir $W/ma/Trip
      head -c 300000 /dev/urandom >$W/1
      cp $W/1 $W/ma/Trip/Photo/1.bin
      albumfs sync -q $W/ma
      onto b
      cmp $W/1 $W/mb/Trip/Photo/1.bin
      cp $W/1 $W/mb/Trip/Photo/of-b.bin
      albumfs sync -q $W/mb

      # The first machine learns it before anything more is promised.
      cp $W/1 $W/ma/Trip/Photo/late.bin || true
      if albumfs sync -q $W/ma; then exit 1; fi
      albumfs status --json $W/ma | grep '"readOnly" *: *true'
      albumfs status $W/ma | grep "$(hostname)"
      if albumfs umount -q $W/ma; then exit 1; fi
      albumfs umount -q $W/mb

      onto a
      cmp $W/1 $W/ma/Trip/Photo/1.bin
      cmp $W/1 $W/ma/Trip/Photo/of-b.bin
      albumfs umount -q $W/ma
      """)
  }

  @Test func whatTheStoppedMachineHadNotSyncedComesBackByARepair() throws {
    try with(
      """
      onto a
      echo 1 >$W/ma/before
      albumfs sync -q $W/ma
      onto b
      echo 2 >$W/mb/of-b
      albumfs sync -q $W/mb
      # A closed file of the machine that is stopped: the frame is on disk, the barrier is not.
      echo precious >$W/ma/late || true
      albumfs umount -q $W/ma || true
      albumfs umount -q $W/mb
      albumfs check --password-file $P --repair $W/a/store || [ $? = 26 ]
      onto a
      [ "$(cat $W/ma/of-b)" = 2 ]
      [ ! -e $W/ma/late ]
      [ "$(cat $W/ma/Recovered/Photo/late)" = precious ]
      albumfs umount -q $W/ma
      albumfs check -q --password-file $P $W/a/store
      """)
  }

  @Test func aMountLeavesAMachineAloneThatIsWriting() throws {
    try with(
      """
      onto a
      while [ ! -e $W/over ]; do date +%N >$W/ma/clock; albumfs sync -q $W/ma; done &
      writer=$!
      code=0
      ALBUMFS_TESTS_DELAYS=watch=60 onto b || code=$?
      touch $W/over
      wait $writer
      [ $code = 40 ]
      albumfs status --json $W/ma | grep '"readOnly" *: *false'
      albumfs umount -q $W/ma
      """)
  }

  /// The connection of sshfs dies while files are written, and comes back: the server of its old one is gone.
  @Test(arguments: ["by itself", "by a new mount"])
  func aMountWaitsWhileTheServerIsAway(_ way: String) throws {
    try with(
      """
      fusermount3 -u $W/a
      connect() {
        sshfs -o ssh_command=$W/ssh,dcache_stat_timeout=1,dcache_dir_timeout=1${1-} \
          server:$(dirname $S) $W/a
      }
      printf '#!/bin/sh\n[ ! -e %s ] || exit 1\necho $$ >%s\nexec /usr/lib/openssh/sftp-server\n' \
        $W/away $W/server >$W/ssh
      connect \(way == "by itself" ? ",reconnect" : "")
      ALBUMFS_TESTS_DELAYS=watch=1,outage=1 onto a
      mkdir $W/ma/Trip
      head -c 9000000 /dev/urandom >$W/1
      cp $W/1 $W/ma/Trip/Photo/1.bin
      albumfs sync -q $W/ma
      for number in $(seq 2 30); do
        head -c $((number * 100000)) $W/1 >$W/ma/Trip/Photo/$number.bin && echo $number >>$W/closed
      done &
      copying=$!
      await 'grep -q 5 $W/closed'
      touch $W/away
      kill -KILL $(cat $W/server)
      # A read that needs the store gets an error; nothing else does.
      drop() { echo 1 >/proc/sys/vm/drop_caches; cat $W/ma/Trip/Photo/1.bin >$W/read; }
      if [ $(id -u) = 0 ]; then await '! drop'; fi
      await 'albumfs status --json $W/ma | grep -q \"outage\"'
      albumfs status $W/ma | grep 'Outage: '
      rm $W/away
      \(way == "by itself" ? "" : "fusermount3 -uz $W/a || true; connect")
      wait $copying
      albumfs sync -q $W/ma
      albumfs status --json $W/ma | grep '"readOnly" *: *false'
      if albumfs status --json $W/ma | grep -q '"outage"'; then exit 1; fi
      for number in $(seq 2 30); do
        cmp -n $((number * 100000)) $W/1 $W/ma/Trip/Photo/$number.bin
      done
      albumfs umount -q $W/ma
      onto a
      for number in $(seq 2 30); do
        cmp -n $((number * 100000)) $W/1 $W/ma/Trip/Photo/$number.bin
        [ $(stat -c %s $W/ma/Trip/Photo/$number.bin) = $((number * 100000)) ]
      done
      cmp $W/1 $W/ma/Trip/Photo/1.bin
      albumfs umount -q $W/ma
      albumfs check -q --password-file $P $W/a/store
      """)
  }

  /// Nobody ends the connection, and no call returns. A command that asks for the state does not wait.
  @Test func aServerThatIsSilentIsNamed() throws {
    try with(
      """
      fusermount3 -u $W/a
      printf '#!/bin/sh\necho $$ >%s\nexec /usr/lib/openssh/sftp-server\n' $W/server >$W/ssh
      sshfs -o ssh_command=$W/ssh,dcache_stat_timeout=1,dcache_dir_timeout=1 server:$(dirname $S) $W/a
      ALBUMFS_TESTS_DELAYS=watch=1,silence=1 onto a
      mkdir $W/ma/Trip
      albumfs sync -q $W/ma
      kill -STOP $(cat $W/server)
      head -c 3000000 /dev/urandom >$W/1
      cp $W/1 $W/ma/Trip/Photo/1.bin &
      copying=$!
      # A barrier of the mount itself waits by then.
      albumfs sync -q $W/ma &
      syncing=$!
      await 'albumfs status --json $W/ma >$W/state && grep -q \"outage\" $W/state' || result=$?
      albumfs status $W/ma >$W/state || result=$?
      kill -CONT $(cat $W/server)
      [ "${result-0}" = 0 ]
      grep 'Outage: ' $W/state
      wait $copying
      wait $syncing
      if albumfs status --json $W/ma | grep -q '"outage"'; then exit 1; fi
      albumfs umount -q $W/ma
      onto a
      cmp $W/1 $W/ma/Trip/Photo/1.bin
      albumfs umount -q $W/ma
      """)
  }

  /// A server behind `$W/a` that can become silent, and what the next tests ask.
  private static let stoppable = """
    fusermount3 -u $W/a
    printf '#!/bin/sh\necho $$ >%s\nexec /usr/lib/openssh/sftp-server\n' $W/server >$W/ssh
    sshfs -o ssh_command=$W/ssh,dcache_stat_timeout=1,dcache_dir_timeout=1 server:$(dirname $S) $W/a
    ends() {
      local code=0 wanted=$1 words=$2
      shift 2
      timeout 100 "$@" >$W/said 2>&1 </dev/null || code=$?
      [ $code = $wanted ] && grep -q -- "$words" $W/said || { echo "exit $code: $(cat $W/said)" >&2; return 1; }
    }
    goes_on() { kill -CONT $(cat $W/server) || true; }
    trap 'goes_on; leave' EXIT

    """

  /// The same: no command waits for ever, and each can be ended. What is locked leaves the tree at once.
  @Test func noCommandWaitsForASilentServerForEver() throws {
    try with(
      """
      \(NetworkStoreTests.stoppable)
      export ALBUMFS_TESTS_DELAYS=watch=1,silence=1,outage=2,locking=2
      for way in umount lock; do
        onto a
        mkdir -p $W/ma/Trip
        echo 1 >$W/ma/Trip/Photo/$way
        albumfs sync -q $W/ma
        daemon=$(albumfs status --json $W/ma | grep -o '"pid" *: *[0-9]*' | grep -o '[0-9]*$')
        # Closed, and not on disk yet.
        echo 2 >$W/ma/Trip/Photo/$way-late
        kill -STOP $(cat $W/server)
        ends 42 'does not respond' albumfs info $W/a/store
        ends 42 'does not respond' albumfs check --password-file $P $W/a/store
        ends 42 'does not respond' albumfs mount --password-file $P $W/a/store $W/mb
        ALBUMFS_TESTS_DELAYS=silence=1 albumfs info $W/a/store 2>$W/asked &
        asking=$!
        await 'grep -q "does not respond; waiting" $W/asked'
        kill -TERM $asking
        code=0; wait $asking || code=$?
        [ $code = 15 ]
        ends 42 'the store has not responded since' albumfs $way $W/ma
        if mountpoint -q $W/ma; then exit 1; fi
        ends 0 '' albumfs list
        goes_on
        await '! kill -0 $daemon'
        onto a
        [ "$(cat $W/ma/Trip/Photo/$way $W/ma/Trip/Photo/$way-late | tr -d '\\n')" = 12 ]
        albumfs umount -q $W/ma
      done
      """)
  }

  /// What asks for the password makes the server silent, so that the command has begun by then.
  @Test func noCommandWaitsForAServerThatBecomesSilentForEver() throws {
    try with(
      """
      \(NetworkStoreTests.stoppable)
      onto a
      head -c 300000 /dev/urandom >$W/1
      cp $W/1 $W/ma/1
      albumfs umount -q $W/ma
      echo "another long password" >$W/new
      printf '#!/bin/sh\nkill -STOP %s; cat %s\n' $(cat $W/server) $P >$W/silent
      chmod +x $W/silent
      commands=(
        "check --password-command $W/silent $W/a/store"
        "space password --password-command $W/silent --new-password-file $W/new $W/a/store"
        "mount --password-command $W/silent $W/a/store $W/mb"
      )
      for command in "${commands[@]}"; do
        ALBUMFS_TESTS_DELAYS=silence=1,outage=2 ends 42 'does not respond. What' albumfs $command
        goes_on
        await '! pgrep -f "attended.*$W/a/store"'
        ALBUMFS_TESTS_DELAYS=silence=1 albumfs $command 2>$W/asked &
        asking=$!
        await 'grep -q "does not respond; waiting" $W/asked'
        kill -TERM $asking
        code=0; wait $asking || code=$?
        [ $code = 15 ]
        goes_on
        await '! pgrep -f "attended.*$W/a/store"'
      done
      onto a
      cmp $W/1 $W/ma/1
      albumfs umount -q $W/ma
      ends 0 'nothing is damaged' albumfs check --password-file $P $W/a/store
      """)
  }
}
