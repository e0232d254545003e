import AlbumTestSupport
import Foundation
import Testing

/// A store in an object storage is mounted for reading, with nothing but the password and the credentials.
@Suite(.serialized, .timeLimit(.minutes(30))) struct BucketMountTests {
  /// A mounted store with photos and files, and its copy in a bucket. Scripts have `$U`, the address of the copy,
  /// and the variables of the environment that S3 tools take.
  private func withCopy(network: FaultyNetwork? = nil, _ script: String) throws {
    let server = try ObjectServer.shared()
    let bucket = try server.makeBucket()
    func variables(_ authority: String) -> String {
      let settings = server.environment(authority: authority).map { "export \($0.key)=\($0.value)" }
      return settings.joined(separator: "\n")
    }
    try MountedStore.use(delays: "following=0.3,watch=0.3") { mounted in
      let picture = try TestPictures.encode(TestPictures.pixels(), as: "jpg[Q=90]")
      try mounted.write(Data(picture), "a.jpg")
      try mounted.sh(
        """
        \(variables(server.authority)); U=s3://\(bucket)/our/album
        mkdir -p $M/Trip/Notes; cp $W/a.jpg $M/Trip/Photo/; head -c 7000000 /dev/urandom > $M/Trip/Photo/b.bin
        for n in $(seq 300); do echo $n > $M/Trip/Notes/$n; done
        albumfs sync -q $M
        albumfs copy -q $S $U
        \(variables(network?.authority ?? server.authority))
        \(script)
        """)
    }
  }

  @Test func aBucketIsMountedForReading() throws {
    try withCopy(
      """
      albumfs mount -q --read-only --password-file $P $U $W/../mnt2
      diff -r $M $W/../mnt2
      albumfs status $W/../mnt2 | grep -q "^Store: *$U"
      albumfs status --json $W/../mnt2 | python3 -c 'import json,sys; s = json.load(sys.stdin); assert s["photos"] == 1, s'
      if touch $W/../mnt2/Trip/Notes/new 2> /dev/null; then exit 1; fi
      # What is copied later shows when all of it is there.
      echo later > $M/Trip/Notes/later; sync $M/Trip/Notes/later
      albumfs copy -q --update $S $U
      await "grep -q later $W/../mnt2/Trip/Notes/later 2> /dev/null"
      albumfs umount -q $W/../mnt2
      """)
  }

  /// Each third request fails on its way, and the programs that speak to the server are killed in between.
  @Test func aBadNetworkChangesNothing() throws {
    let network = try FaultyNetwork(to: ObjectServer.shared(), everyThird: true)
    try withCopy(
      network: network,
      """
      albumfs mount -q --read-only --password-file $P $U $W/../mnt2
      cmp $M/Trip/Photo/b.bin $W/../mnt2/Trip/Photo/b.bin
      daemon=$(albumfs status --json $W/../mnt2 | python3 -c 'import json,sys; print(json.load(sys.stdin)["pid"])')
      for helper in $(pgrep -P $daemon albumfs-remote); do kill -9 $helper; done
      diff -r $M $W/../mnt2
      albumfs umount -q $W/../mnt2
      albumfs check -q --password-file $P $U
      """)
  }

  /// Damage is named by a check over the network, and nothing in a bucket is changed.
  @Test func aBucketIsCheckedAndNeverChanged() throws {
    try withCopy(
      """
      refused() {
        local code=0 wanted=$1 words=$2
        shift 2
        "$@" > $W/out 2>&1 < /dev/null || code=$?
        [ $code = $wanted ] && grep -q -- "$words" $W/out || { echo "exit $code: $(cat $W/out)" >&2; return 1; }
      }
      albumfs check --password-file $P $U 2>&1 | grep -q 'nothing is damaged'
      albumfs info $U > /dev/null
      albumfs space recovery-key --password-file $P $U | grep -q -- -
      refused 11 'only a mount and a repair change it' albumfs chaff add $U 10M
      refused 11 'only a mount and a repair change it' albumfs space add --password-file $P $U
      refused 11 'only a mount and a repair change it' albumfs space add-key --password-file $P --new-password-file $P $U
      refused 11 'only a mount and a repair change it' albumfs space destroy --yes --password-file $P $U
      refused 12 'password' albumfs check --password-command 'echo wrong' $U
      refused 6 'not a store' albumfs mount --read-only --password-file $P ${U%/*}/none $W/../mnt2
      # Damage in the store goes into the copy, and is found there.
      albumfs umount -q $M
      for file in $(find $S/segments -type f); do
        printf XXXXXXXX | dd of=$file bs=1 seek=300000 conv=notrunc status=none
      done
      albumfs copy -q --update $S $U
      refused 26 'damage' albumfs check --password-file $P $U
      albumfs mount -q --password-file $P $S $M
      """)
  }
}
