import AlbumTestSupport
import Testing

/// One mount writes a space, and another one, which only reads, shows what the writer has on disk.
struct FollowTests {
  private func withReader(_ script: String) throws {
    try MountedStore.use(delays: "following=0.1") { mounted in
      try mounted.sh("mkdir $M/Trip; echo 1 >$M/Trip/Photo/first; albumfs sync -q $M")
      try mounted.mount(["--read-only"], at: mounted.secondMountPoint)
      try mounted.sh("R='\(mounted.secondMountPoint)'\n" + script)
    }
  }

  @Test func newFilesShow() throws {
    try withReader(
      """
      [ "$(cat $R/Trip/Photo/first)" = 1 ]
      head -c 3000000 /dev/urandom >$W/big
      cp $W/big $M/Trip/Photo/big.bin
      mkdir -p $M/Other/Sub
      echo 2 >$M/Other/Sub/Photo/second
      albumfs sync -q $M
      # A reader may show each state on the way, also a file that is not whole.
      await 'grep -qx 2 $R/Other/Sub/Photo/second && cmp -s $W/big $R/Trip/Photo/big.bin'
      """)
  }

  @Test func removedRenamedAndOverwrittenFilesShowAsTheyAre() throws {
    try withReader(
      """
      echo old >$M/Trip/Photo/changed
      echo gone >$M/Trip/Photo/gone
      albumfs sync -q $M
      await [ -e $R/Trip/Photo/gone ]
      [ "$(cat $R/Trip/Photo/changed)" = old ]
      rm $M/Trip/Photo/gone
      mv $M/Trip/Photo/first $M/Trip/Photo/renamed
      echo new and longer >$M/Trip/Photo/changed
      albumfs sync -q $M
      await '[ ! -e $R/Trip/Photo/gone ] && [ -e $R/Trip/Photo/renamed ]'
      await 'grep -qx "new and longer" $R/Trip/Photo/changed'
      [ ! -e $R/Trip/Photo/first ]
      """)
  }

  /// A program reads a file while the writer removes it: an error, and no zeros.
  @Test func anOpenFileThatTheWriterRemovesGivesAnError() throws {
    try withReader(
      """
      head -c 9000000 /dev/urandom >$W/big
      cp $W/big $M/Trip/Photo/big.bin
      albumfs sync -q $M
      await cmp -s $W/big $R/Trip/Photo/big.bin
      exec 9<$R/Trip/Photo/big.bin
      head -c 100000 <&9 | cmp - <(head -c 100000 $W/big)
      rm $M/Trip/Photo/big.bin
      albumfs sync -q $M
      await [ ! -e $R/Trip/Photo/big.bin ]
      tail -c 1000000 <&9 >$W/rest 2>$W/error || true
      [ ! -s $W/rest ] || tail -c 1000000 $W/big | cmp -n $(stat -c %s $W/rest) - $W/rest
      exec 9<&-
      """)
  }

  @Test func aReaderGoesOnWhenTheWriterMountsAgain() throws {
    try withReader(
      """
      albumfs umount -q $M
      albumfs mount -q --password-file $P $S $M
      echo 3 >$M/Trip/Photo/third
      albumfs sync -q $M
      await [ -e $R/Trip/Photo/third ]
      [ "$(cat $R/Trip/Photo/first)" = 1 ]
      """)
  }

  @Test func theStatusSaysOfWhichTimeThatIsAndNothingOfABadEnd() throws {
    try withReader(
      """
      before=$(date +%s)
      echo 2 >$M/Trip/Photo/second
      albumfs sync -q $M
      await [ -e $R/Trip/Photo/second ]
      look() { albumfs status --json $R | tr -d ' \\n' | sed 's/.*"lastLook":\\([0-9]*\\).*/\\1/'; }
      await '[ $(look) -ge $before ]'
      albumfs status $R >$W/status
      grep 'Follows:  *the writer, as of' $W/status
      if grep -i 'did not end' $W/status; then exit 1; fi
      """)
  }
}
