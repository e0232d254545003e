import AlbumTestSupport
import Glibc
import Testing

/// Stores on real servers, which start within seconds.
@Suite(.enabled(if: geteuid() == 0, "starts servers"))
struct ServerTests {
  private func with(_ script: String) throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    mounted.delays = "watch=1,outage=1"
    try mounted.sh(script)
  }

  /// rclone uploads later and believes its own list of files until then.
  @Test func onRcloneOnlyReadingIsPossibleAndTheReasonIsSaid() throws {
    try with(
      """
      albumfs mount -q --password-file $P $S $W/m
      echo 1 >$W/m/file
      albumfs umount -q $W/m
      mkdir $W/served $W/cloud $W/cache
      mv $S $W/served/store
      trap 'fusermount3 -uz $W/m 2>/dev/null || true; fusermount3 -uz $W/cloud || true' EXIT
      rclone mount --daemon --vfs-cache-mode writes --cache-dir $W/cache --config /dev/null \\
        $W/served $W/cloud
      code=0
      albumfs mount -q --password-file $P $W/cloud/store $W/m 2>$W/error || code=$?
      [ $code = 11 ]
      grep -q 'fuse.rclone, which uploads files later' $W/error
      albumfs mount -q --read-only --password-file $P $W/cloud/store $W/m
      [ "$(cat $W/m/file)" = 1 ]
      albumfs umount -q $W/m
      fusermount3 -u $W/cloud
      mv $W/served/store $S
      """)
  }

  /// A server with its two clients, in a network of its own. Its brick, the process with the files, is killed
  /// while a client copies photos, and started again.
  @Test func onGlusterFSOneWriterWaitsForTheServerAndReadersFollow() throws {
    try with(
      """
      mkdir -p $W/gluster/brick $W/a $W/b $W/ma $W/mb /var/lib/glusterd /run/gluster /var/log/glusterfs
      export -f await
      cat >$W/script <<'SCRIPT'
      set -Eeuo pipefail
      trap 'echo "failed: $BASH_COMMAND" >&2' ERR
      leave() {
        fusermount3 -uz $W/ma || true
        fusermount3 -uz $W/mb || true
        umount -l $W/a $W/b || true
        for server in $(cat $W/gluster/*.pid /run/gluster/vols/*/*.pid); do kill -KILL $server || true; done
      }
      trap leave EXIT
      ip link set lo up
      for folder in /var/lib/glusterd /run/gluster /var/log/glusterfs; do mount -t tmpfs none $folder; done
      grep -qw "$(hostname)" /etc/hosts || { cp /etc/hosts $W/hosts; echo "127.0.0.1 $(hostname)" >>$W/hosts
        mount --bind $W/hosts /etc/hosts; }
      glusterd --log-level WARNING -l $W/gluster/log -p $W/gluster/server.pid
      ask() { gluster --mode=script volume "$@" >/dev/null; }
      await gluster --mode=script volume list
      ask create photos $(hostname):$W/gluster/brick force
      ask start photos
      mount -t glusterfs $(hostname):/photos $W/a
      mount -t glusterfs $(hostname):/photos $W/b
      cp -a $S $W/a/store

      albumfs mount -q --password-file $P $W/a/store $W/ma
      mkdir $W/ma/Trip
      head -c 3000000 /dev/urandom >$W/photo
      cp $W/photo $W/ma/Trip/Photo/1.bin
      albumfs sync -q $W/ma
      code=0
      albumfs mount -q --password-file $P $W/b/store $W/mb || code=$?
      [ $code = 40 ]
      albumfs mount -q --read-only --password-file $P $W/b/store $W/mb
      cmp $W/photo $W/mb/Trip/Photo/1.bin
      albumfs umount -q $W/mb

      for number in $(seq 2 20); do
        cp $W/photo $W/ma/Trip/Photo/$number.bin && echo $number >>$W/closed
      done &
      copying=$!
      await 'grep -q 5 $W/closed'
      brick() { cat /run/gluster/vols/photos/*.pid; }
      killed=$(brick)
      kill -KILL $killed
      await 'albumfs status --json $W/ma | grep -q \\"outage\\"'
      # The server may not have noticed yet.
      await 'ask start photos force; [ $(brick) != $killed ]'
      wait $copying
      [ $(wc -l <$W/closed) = 19 ]
      albumfs sync -q $W/ma
      for number in $(seq 20); do cmp $W/photo $W/ma/Trip/Photo/$number.bin; done
      albumfs umount -q $W/ma
      albumfs mount -q --password-file $P $W/b/store $W/mb
      for number in $(seq 20); do cmp $W/photo $W/mb/Trip/Photo/$number.bin; done
      albumfs umount -q $W/mb
      albumfs check -q --password-file $P $W/b/store
      SCRIPT
      unshare --mount --net --propagation private bash $W/script
      """)
  }
}
