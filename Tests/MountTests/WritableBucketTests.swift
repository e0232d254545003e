import AlbumTestSupport
import Foundation
import Testing

/// A store in an object storage is mounted for writing: nothing that counts as in the bucket is lost,
/// whatever is killed and whoever takes the space over.
@Suite(.serialized, .timeLimit(.minutes(30))) struct WritableBucketTests {
  /// Shortens what a test waits for: the watch of a mount, attempts of requests, the end of a session without
  /// network.
  private static let delays = "watch=0.3,outage=1,following=0.3"

  /// A store in a bucket, not mounted. Scripts have `$U`, its address; `$M2`, another mount point; `$AWAY`, a
  /// file that cuts the network while it is there, and `$SILENT`, one that keeps all replies; `there` runs
  /// albumfs as another machine would, which knows nothing of this one; `mount_here` and `mount_there` mount
  /// for writing; `field` reads one of `status --json`; `refused` expects an exit code and words.
  private func withBucket(
    network: FaultyNetwork? = nil, delays: String = "", _ script: String
  ) throws {
    let server = try ObjectServer.shared()
    let network = try network ?? FaultyNetwork(to: server)
    let bucket = try server.makeBucket()
    func variables(_ authority: String) -> String {
      let settings = server.environment(authority: authority).map { "export \($0.key)=\($0.value)" }
      return settings.joined(separator: "\n")
    }
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    mounted.delays = Self.delays + delays
    let picture = try TestPictures.encode(TestPictures.pixels(), as: "jpg[Q=90]")
    try mounted.write(Data(picture), "a.jpg")
    try mounted.sh(
      """
      U=s3://\(bucket)/our/album; M2=$W/../mnt2; AWAY=\(network.away); SILENT=\(network.silent)
      REQUESTS=\(network.requests)
      there() { XDG_STATE_HOME=$W/there albumfs "$@"; }
      mount_here() { albumfs mount -q --password-file $P "$@" $U $M; }
      mount_there() { there mount -q --password-file $P "$@" $U $M2; }
      field() { albumfs status --json $1 | python3 -c 'import json,sys; print(eval("s"+sys.argv[1], {"s": json.load(sys.stdin)}))' "$2"; }
      refused() {
        local code=0 wanted=$1 words=$2
        shift 2
        "$@" > $W/out 2>&1 < /dev/null || code=$?
        [[ $code =~ ^($wanted)$ ]] && grep -q -- "$words" $W/out || { echo "exit $code: $(cat $W/out)" >&2; return 1; }
      }
      staged() { find $W/.local/state/albumfs/staging -type f ! -name 'lock.*' | wc -l; }
      \(variables(server.authority))
      albumfs copy -q $S $U
      \(variables(network.authority))
      \(script)
      """)
  }

  @Test func whatOneMachineWritesAnotherOneSees() throws {
    try withBucket(
      """
      mount_here
      mkdir -p $M/Trip/Notes; cp $W/a.jpg $M/Trip/Photo/; head -c 9000000 /dev/urandom > $M/Trip/Photo/b.bin
      for n in $(seq 100); do echo $n > $M/Trip/Notes/$n; done
      albumfs sync -q $M
      test -s $M/Trip/Thumb/a.jpg
      # All of it is in the bucket now, before the unmount.
      there mount -q --read-only --password-file $P $U $M2; diff -r $M $M2; albumfs umount -q $M2
      [ $(field $M '["remote"]["unsentBytes"]') = 0 ]
      albumfs status $M | grep -q '^Remote: *everything up to 20'
      # More room than in any directory for what is not sent, and what is there counts as used.
      df --output=used,avail -B1 $M | tail -1 | { read used avail; [ $used -gt 9000000 ] && [ $avail -gt 10000000000000 ]; }
      cp -r $M/Trip $W/Trip; rm -r $M/Trip/Notes/1; mv $M/Trip/Photo/b.bin $M/Trip/Photo/c.bin
      rm $W/Trip/Notes/1; mv $W/Trip/Photo/b.bin $W/Trip/Photo/c.bin
      albumfs umount -q $M
      [ $(staged) = 0 ]
      [ "$(stat -c %a $W/.local/state/albumfs/staging/*)" = 700 ]
      mount_there
      diff -r $W/Trip $M2/Trip
      echo back > $M2/Trip/Notes/back
      there umount -q $M2
      mount_here
      grep -q back $M/Trip/Notes/back
      albumfs umount -q $M
      albumfs check -q --password-file $P $U
      """)
  }

  /// A mount for reading on another machine shows what the writer has sent, also in files that it has read
  /// before.
  @Test func aReaderFollowsTheWriter() throws {
    try withBucket(
      delays: ",remote=3",
      """
      mount_here
      mkdir $M/A; head -c 300000 /dev/urandom > $M/A/log; cp $W/a.jpg $M/A/Photo/; albumfs sync -q $M
      there mount -q --read-only --password-file $P $U $M2
      cmp $M/A/log $M2/A/log
      for round in 1 2 3; do
        head -c 300000 /dev/urandom >> $M/A/log; echo $round > $M/A/round; rm -f $M/A/$((round - 1)); echo > $M/A/$round
        albumfs sync -q $M
        await "grep -qx $round $M2/A/round 2> /dev/null"
        await "diff -r $M $M2 > /dev/null 2>&1"
      done
      albumfs status $M2 | grep -q '^Follows: *the writer, as of'
      touch $AWAY
      await "albumfs status $M2 | grep -q '^Follows: .*since then'"
      rm $AWAY
      await "! albumfs status $M2 | grep -q '^Follows: .*since then'"
      albumfs umount -q $M
      diff $M2/A/log <(cat $M2/A/log)
      albumfs umount -q $M2
      """)
  }

  /// The daemon is killed before it has sent anything. The next mount here goes on; so does one after a kill
  /// of the programs that speak to the server.
  @Test func aKilledMountGoesOnWhereItWas() throws {
    try withBucket(
      """
      mount_here
      mkdir $M/A; albumfs sync -q $M
      touch $AWAY
      echo one > $M/A/one; sync $M/A/one
      kill -9 $(field $M '["pid"]')
      [ $(staged) -gt 0 ]
      rm $AWAY
      mount_here 2> $W/said
      if grep -q 'not unmounted there' $W/said; then exit 1; fi
      grep -q one $M/A/one
      head -c 20000000 /dev/urandom > $W/big
      cp $W/big $M/A/big & copy=$!
      for helper in $(pgrep -P $(field $M '["pid"]') albumfs-remote); do kill -9 $helper; done
      wait $copy
      albumfs umount $M
      [ $(staged) = 0 ]
      there mount -q --read-only --password-file $P $U $M2
      cmp $W/big $M2/A/big; grep -q one $M2/A/one
      albumfs umount -q $M2
      """)
  }

  /// Without the network, writing goes on, and sync and umount say what waits and how it gets there.
  @Test func withoutTheNetworkEverythingWaitsHere() throws {
    try withBucket(
      delays: ",remote=3",
      """
      mount_here
      mkdir $M/A; echo one > $M/A/one; albumfs sync -q $M
      touch $AWAY
      echo two > $M/A/two; sync $M/A/two
      refused 54 'is on the disk of this machine, and not in the object storage yet (the connection' albumfs sync $M
      albumfs status $M | grep -q '^Remote: .* to go; sending fails: the connection'
      [ $(field $M '["remote"]["unsentBytes"] > 0') = True ]
      [ $(field $M '["readOnly"]') = False ]
      rm $AWAY
      albumfs sync -q $M
      [ "$(field $M '["remote"].get("problem")')" = None ]
      touch $AWAY
      echo three > $M/A/three; sync $M/A/three
      refused 42 'not in the object storage yet' albumfs sync --timeout 0 $M
      refused 54 'is unmounted. What was written last is on the disk of this machine' albumfs umount $M
      rm $AWAY
      there mount -q --read-only --password-file $P $U $M2
      [ "$(cat $M2/A/one $M2/A/two)" = "$(printf 'one\ntwo')" ]
      albumfs umount -q $M2
      mount_here; albumfs umount -q $M
      there mount -q --read-only --password-file $P $U $M2
      grep -q three $M2/A/three
      albumfs umount -q $M2
      """)
  }

  @Test func anFsyncCanMeanTheBucket() throws {
    try withBucket(
      delays: ",remote=3",
      """
      mount_here --durability remote
      mkdir $M/A; echo one > $M/A/one; sync $M/A/one
      there mount -q --read-only --password-file $P $U $M2
      grep -q one $M2/A/one
      albumfs umount -q $M2
      touch $AWAY
      echo two > $M/A/two
      refused 1 'error' sync $M/A/two
      rm $AWAY
      sync $M/A/two
      albumfs umount -q $M
      """)
  }

  /// The machine that was asleep finds that another one has the space. What it had not sent comes into
  /// Recovered, and what counted as sent stays where it was.
  @Test(arguments: [(0, true), (3, false)])
  func aSecondMachineTakesOverAndNothingIsLost(sessionsSince: Int, hasStaging: Bool) throws {
    let staging = hasStaging ? " --staging $W/waits" : ""
    let more = String(
      repeating:
        "XDG_STATE_HOME=$W/third albumfs mount -q --password-file $P $U $M2; date > $M2/A/third; umount_third\n",
      count: sessionsSince
    ).replacing("umount_third", with: "XDG_STATE_HOME=$W/third albumfs umount -q $M2")
    try withBucket(
      delays: ",remote=3",
      """
      mount_here\(staging)
      mkdir $M/A; echo sent > $M/A/sent; albumfs sync -q $M
      touch $AWAY
      echo late > $M/A/late; sync $M/A/late
      daemon=$(field $M '["pid"]')
      kill -STOP $daemon
      rm $AWAY
      mount_there 2> $W/said
      grep -q 'was mounted on the machine .* and not unmounted there' $W/said
      grep -q sent $M2/A/sent
      test ! -e $M2/A/late
      echo theirs > $M2/A/theirs; there sync -q $M2
      kill -CONT $daemon
      refused '40|11' 'writes to the space now; what this mount had not sent stays on this machine' albumfs sync $M
      [ $(field $M '["readOnly"]') = True ]
      refused 11 'not everything was written' albumfs umount $M
      # As long as the other machine writes, it is refused here.
      (while [ ! -e $W/stop ]; do echo x >> $M2/A/theirs; there sync -q $M2; done) & writer=$!
      refused 54 "a repair sends it and brings it back.*check --repair\(staging)" mount_here\(staging)
      refused 40 'already mounted' env ALBUMFS_TESTS_DELAYS=watch=40 albumfs check --repair\(staging) -q --password-file $P $U
      touch $W/stop; wait $writer
      there umount -q $M2
      \(more)
      refused 54 "a repair sends it and brings it back.*check --repair\(staging)" mount_here\(staging)
      albumfs check --repair\(staging) -q --password-file $P $U > $W/said || [ $? = 26 ]
      mount_there
      grep -q theirs $M2/A/theirs; grep -q sent $M2/A/sent
      grep -rq late $M2/Recovered
      there umount -q $M2
      albumfs check -q --password-file $P $U
      """)
  }

  /// A new store in a bucket; an interrupted one is no store, and the same command completes it.
  @Test func aStoreIsMadeInABucket() throws {
    try withBucket(
      delays: ",remote=3",
      """
      N=${U%/*}/new
      make() { albumfs init -q --kdf interactive --segment-size 1M --chaff 30M --password-file $P "$@"; }
      make $N/one
      test ! -e $W/.local/state/albumfs/staging/*/new
      there mount -q --password-file $P $N/one $M2
      mkdir $M2/A; there umount -q $M2
      refused 7 'is a store already' make $N/one
      # A store has its prefix for itself, whichever command makes it.
      refused 7 "lies in the store $N/one" make $N/one/sub
      refused 7 "lies in the store $U" albumfs copy $S $U/a/b
      refused 7 "holds the store $N/one; a new store needs a prefix of its own" make $N
      refused 7 'holds the store' make ${N%/*}
      code=0
      AWS_ENDPOINT_URL=http://127.0.0.1:1 make $N/two 2> $W/out || code=$?
      [ $code = 52 ]
      """)
  }

  @Test func anInterruptedInitContinues() throws {
    let network = try FaultyNetwork(to: ObjectServer.shared())
    try network.expect([String](repeating: "PUT pass", count: 15) + ["PUT hold", "PUT hold"])
    try withBucket(
      network: network,
      """
      N=${U%/*}/new
      make() { albumfs init -q --kdf interactive --segment-size 1M --chaff 30M --password-file $P "$@"; }
      albumfs init -q --kdf interactive --segment-size 1M --chaff 30M --password-file $P $N 2> $W/out & init=$!
      await "[ -s \(network.held) ]"
      kill -TERM $init
      code=0; wait $init || code=$?
      [ $code = 15 ]
      refused 6 'not complete' albumfs info $N
      make $N 2> $W/said
      grep -q 'going on with the store that an interrupted init has made' $W/said
      test -z "$(ls -d $W/.local/state/albumfs/staging/*/new 2> /dev/null)"
      albumfs check -q --password-file $P $N
      """)
  }

  /// What cannot keep two machines apart is not written to, and options of such mounts are for such stores.
  @Test func whatIsUnsafeIsRefused() throws {
    let network = try FaultyNetwork(to: ObjectServer.shared(), ignoresConditions: true)
    try withBucket(
      network: network,
      """
      refused 44 'nothing keeps two machines from writing at once: it saves a file that is to be new' mount_here
      albumfs mount -q --read-only --password-file $P $U $M
      albumfs umount -q $M
      refused 1 'are for stores in an object storage' albumfs mount --staging $W/x --password-file $P $S $M
      refused 1 'are for stores in an object storage' albumfs mount --durability remote --password-file $P $S $M
      refused 1 '256M or more' albumfs mount --staging-size 1M --password-file $P $U $M
      refused 1 'is in an object storage' mount_here --staging $U
      refused 1 'lies in the mount point' mount_here --staging $M/staging
      refused 1 'lies in the store' mount_here --staging $S/segments/staging
      albumfs mount -q --password-file $P $S $M
      refused 1 'lies in the space that is mounted on' mount_there --staging $M/staging
      albumfs umount -q $M
      test ! -e $S/segments/staging
      """)
  }

  /// What a mount costs, in requests. Each one is a way to the server and back, and many wait for one
  /// another.
  @Test func aMountMakesFewRequests() throws {
    // Measured: 10, 23 and 7. On a slow machine a mount for reading looks for news before it is asked to end,
    // and one for writing sends what it has. Before they were made at once, and each once: 33, 51 and 17.
    try withBucket(
      """
      requests() { wc -l < $REQUESTS; }
      most() { [ $(($(requests) - $1)) -le $2 ] || { tail -n +$(($1 + 1)) $REQUESTS >&2; return 1; }; }
      mkdir $W/first; touch $REQUESTS
      before=$(requests); there mount -q --read-only --password-file $P $U $M2; albumfs umount -q $M2
      most $before 24
      before=$(requests); mount_here
      most $before 36
      before=$(requests); mkdir $M/A; echo 1 > $M/A/Photo/1
      most $before 16
      albumfs umount -q $M
      """)
  }

  /// The mark of an unfinished copy that came back beside a whole store: each command says what to do.
  @Test func aMarkThatCameBackIsNamed() throws {
    try withBucket(
      """
      key=${U#s3://*/}; bucket=${U#s3://}; bucket=${bucket%%/*}
      object() {
        curl -sf --aws-sigv4 aws:amz:us-east-1:s3 --user $AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY "$@" \
          $AWS_ENDPOINT_URL/$bucket/$key/albumfs.copying
      }
      object -X PUT --data-binary @$S/albumfs.conf -H "x-amz-content-sha256: $(sha256sum < $S/albumfs.conf | cut -d' ' -f1)"
      words="no copy was interrupted there, somebody has brought $U/albumfs.copying back: remove this one file"
      refused 6 "$words" mount_here
      refused 6 "$words" albumfs check --password-file $P $U
      refused 6 "$words" albumfs init --password-file $P $U
      refused 6 "brought $U/albumfs.copying back: remove this one file" albumfs copy $U $W/copy
      object -X DELETE -H "x-amz-content-sha256: $(sha256sum < /dev/null | cut -d' ' -f1)"
      mount_here; albumfs umount -q $M
      albumfs check -q --password-file $P $U
      """)
  }

  /// Two mounts of a space on one machine are refused. Another directory for what is not sent is another
  /// machine.
  @Test func aMachineMountsASpaceOnce() throws {
    try withBucket(
      """
      mount_here --staging $W/other --staging-size 256M -o noatime
      mkdir $M/A; albumfs sync -q $M
      find $W/other -type f | grep -q .
      test ! -e $W/.local/state/albumfs
      refused 40 'already mounted' albumfs mount --password-file $P --staging $W/other $U $M2
      albumfs list | grep -q $M
      albumfs lock -q $M
      await "! albumfs list | grep -q $M"
      test -z "$(find $W/other -type f ! -name 'lock.*')"
      mount_here
      albumfs umount --verbose $M 2>&1 | grep -q 'unmounted, everything is in the bucket'
      """)
  }

  /// A space that another mount namespace alone has shows with those who keep it open, and not with the
  /// programs of its own daemon.
  @Test func theProgramsOfADaemonDoNotUseItsMount() throws {
    try withBucket(
      """
      mkfifo $W/begin $W/end
      export U M P
      unshare --mount --propagation private bash -c 'albumfs mount -q --password-file $P $U $M'
      # Others may have mounts on this machine, too.
      listed() { albumfs list --json | python3 -c 'import json,os,sys; print(*[eval(sys.argv[1]) for m in json.load(sys.stdin)["mounts"] if m["mountPoint"] == os.environ["M"]])' "$1"; }
      daemon=$(listed 'm["pid"]')
      pgrep -P $daemon albumfs-remote > /dev/null
      [ "$(listed '[u["name"] for u in m["users"]]')" = '[]' ]
      nsenter --mount=/proc/$daemon/ns/mnt bash -c 'echo > $0; read line < $1' $W/begin $W/end & user=$!
      read line < $W/begin
      [ "$(listed '[u["uses"].startswith("has it mounted on") for u in m["users"]]')" = '[True]' ]
      echo > $W/end; wait $user
      nsenter --mount=/proc/$daemon/ns/mnt albumfs umount -q $M
      """)
  }

  /// A server that gets everything and replies to nothing keeps nobody in a locked space.
  @Test func aLockBesideASilentServerEnds() throws {
    try withBucket(
      delays: ",locking=1,remote=3",
      """
      mount_here
      mkdir $M/A; albumfs sync -q $M
      daemon=$(field $M '["pid"]')
      touch $SILENT
      echo one > $M/A/one; sync $M/A/one
      refused 54 'is locked, and what was written last is on the disk of this machine' albumfs lock $M
      await "! albumfs list | grep -q $M"
      # On a slow machine it has given up, and ended, by now.
      kill -9 $daemon 2> /dev/null || true
      rm $SILENT
      mount_here
      grep -q one $M/A/one
      albumfs umount -q $M
      """)
  }

  /// To copy over a store would take it from the machine that writes to it.
  @Test func aCopyOverABucketToWhichAMachineWritesIsRefused() throws {
    try withBucket(
      """
      mount_here
      mkdir $M/A; albumfs sync -q $M
      (while [ ! -e $W/stop ]; do echo x >> $M/A/x; albumfs sync -q $M; done) & writer=$!
      refused 40 'is mounted' env ALBUMFS_TESTS_DELAYS=watch=40 albumfs copy --update $S $U
      touch $W/stop; wait $writer
      albumfs umount -q $M
      mount_there; test -s $M2/A/x; there umount -q $M2
      albumfs copy -q --update $S $U
      mount_there; test ! -e $M2/A; there umount -q $M2
      """)
  }
}
