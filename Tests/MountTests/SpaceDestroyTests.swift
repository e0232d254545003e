import AlbumTestSupport
import Testing

/// `space destroy` of a used space. It is refused while the space is mounted. Otherwise it also removes what
/// this machine remembers of the space.
@Suite(.serialized) struct SpaceDestroyTests {
  @Test func aMountedSpaceIsNotDestroyedAndNothingIsRememberedOfADestroyedOne() throws {
    let mounted = try MountedStore(initOptions: ["--chaff", "0"])
    defer { mounted.abandon() }
    let remember = "export XDG_STATE_HOME=$W/state"
    try mounted.sh(
      """
      \(remember)
      albumfs mount --remember --password-file $P $S $M
      mkdir $M/Trip && echo text > $M/Trip/note.txt
      code=0; albumfs space destroy --yes --password-file $P $S || code=$?
      [ $code = 40 ]
      cat $M/Trip/note.txt
      albumfs umount $M
      [ $(ls $W/state/albumfs | wc -l) = 1 ]
      echo another > $W/another
      albumfs space add -q --password-file $W/another $S
      (cd $S && find segments -type f -exec sha256sum {} + | sort) > $W/before
      albumfs space destroy --yes --password-file $P $S
      (cd $S && find segments -type f -exec sha256sum {} + | sort) > $W/after
      cmp $W/before $W/after
      [ $(ls $W/state/albumfs | wc -l) = 0 ]
      code=0; albumfs mount --password-file $P $S $M || code=$?
      [ $code = 12 ]
      albumfs check --password-file $W/another $S
      """)
  }
}
