import AlbumTestSupport
import Foundation
import Testing

/// What was removed by mistake comes back through the mount, and only a password removes it for good.
@Suite(.serialized) struct DeletedFileTests {
  private func withPhotos(_ body: (MountedStore) throws -> Void) throws {
    try MountedStore.use { mounted in
      try mounted.sh("mkdir $M/Trip $M/Trip/Photo/day")
      try mounted.write(Data(TestPictures.jpeg(orientation: 1)), "picture")
      try mounted.sh(
        "for name in a b day/c; do { cat $W/picture; echo $name; } > $M/Trip/Photo/$name.jpg; done")
      try mounted.sync()
      try body(mounted)
    }
  }

  @Test func afterRmOneCommandBringsTheAlbumBack() throws {
    try withPhotos { mounted in
      try mounted.sh(
        """
        sums() { cd $M; find Trip -type f | sort | xargs -d '\\n' sha256sum; }
        sums > $W/before; ls -i $M/Trip/Photo/a.jpg > $W/inode
        rm -rf $M/Trip; test ! -e $M/Trip
        albumfs status $M | grep -q '^Deleted: .*3 files'
        test $(albumfs deleted list $M | wc -l) = 3
        albumfs deleted list --json $M > $W/list
        """)
      let list = try Data(contentsOf: URL(fileURLWithPath: mounted.work + "/list"))
      let json = try #require(try JSONSerialization.jsonObject(with: list) as? [String: Any])
      let files = try #require(json["files"] as? [[String: Any]])
      #expect(
        files.compactMap { $0["path"] as? String }.sorted() == [
          "Trip/Photo/a.jpg", "Trip/Photo/b.jpg", "Trip/Photo/day/c.jpg",
        ])
      try mounted.remount()
      #expect(try mounted.sh("albumfs deleted restore $M --since 1d") == "")
      try mounted.sh(
        """
        sums() { cd $M; find Trip -type f | sort | xargs -d '\\n' sha256sum; }
        sums | diff $W/before -; ls -i $M/Trip/Photo/a.jpg | diff $W/inode -
        test $(ls $M/Trip/Thumb | wc -l) = 3; test -z "$(albumfs deleted list -q $M)"
        """)
    }
  }

  /// `>` empties the photo, `dd` writes into it, and `>>` loses nothing of it.
  @Test func whatWasOverwrittenComesBackBesideIt() throws {
    try withPhotos { mounted in
      try mounted.sh(
        """
        cd $M/Trip/Photo; cp a.jpg b.jpg $W/
        echo new > a.jpg; printf CRYPT | dd of=b.jpg conv=notrunc status=none; echo more >> day/c.jpg
        test $(albumfs deleted list $M | grep -c '(overwritten)') = 2
        test $(albumfs deleted list $M | wc -l) = 2
        albumfs deleted restore -q $M --all
        await "test -s 'a (restored).jpg'"; cmp 'a (restored).jpg' $W/a.jpg
        await "test -s 'b (restored).jpg'"; cmp 'b (restored).jpg' $W/b.jpg
        test "$(cat a.jpg)" = new; test "$(head -c 5 b.jpg)" = CRYPT
        """)
    }
  }

  @Test func statusNamesADisasterAndTheCommandThatTakesItBack() throws {
    try withPhotos { mounted in
      try mounted.sh(
        """
        mkdir $M/.d; cd $M/.d; for n in $(seq 1100); do echo $n > $n; done; cd /; rm -rf $M/.d
        albumfs status $M > $W/said; grep -q '^Burst: *1100 files' $W/said
        eval "$(sed -n 's/.*To bring them back: //p' $W/said)" 2>/dev/null
        test $(cat $M/.d/* | sort -n | uniq | wc -l) = 1100
        """)
    }
  }

  /// The kernel remembers names that are not there.
  @Test func aFileThatComesBackShowsWithoutANewMount() throws {
    try withPhotos { mounted in
      try mounted.sh(
        """
        cd $M/Trip/Photo; rm a.jpg; test ! -e a.jpg; ls | wc -l > $W/without
        albumfs deleted restore -q $M $(albumfs deleted list $M | cut -f 1)
        await test -s a.jpg; await 'ls | grep -qx a.jpg'; test $(ls | wc -l) = $(($(cat $W/without) + 1))
        # Under another name, where something has its own.
        mv b.jpg a.jpg; albumfs deleted restore $M --all 2>&1 | grep -q 'a (restored).jpg'
        await "test -s 'a (restored).jpg'"
        """)
    }
  }

  @Test func onlyAPasswordOfTheSpaceRemovesForGood() throws {
    try withPhotos { mounted in
      try mounted.setPassword("another one", "other")
      try mounted.sh(
        """
        albumfs space add -q --password-file $W/../other $S
        echo wrong > $W/wrong; rm $M/Trip/Photo/?.jpg
        code=0; albumfs deleted purge $M --all < /dev/null 2>/dev/null || code=$?; test $code = 9
        code=0; albumfs deleted purge $M --all --password-file $W/wrong 2>/dev/null || code=$?; test $code = 12
        code=0; albumfs deleted purge $M --all --password-file $W/../other 2> $W/said || code=$?; test $code = 12
        grep -q 'another space' $W/said
        code=0; albumfs history $M --off < /dev/null 2>/dev/null || code=$?; test $code = 9
        code=0; albumfs history $M --keep 1d < /dev/null 2>/dev/null || code=$?; test $code = 9
        code=0; albumfs deleted purge $M 1 --password-file $P 2>/dev/null || code=$?; test $code = 1
        test $(albumfs deleted list $M | wc -l) = 2
        albumfs deleted purge $M --all --password-file $P > $W/said 2>&1
        grep -q 'Removed 2 files for good' $W/said; grep -q 'older copies of the store' $W/said
        test -z "$(albumfs deleted list -q $M)"
        """)
      try mounted.unmount()
      try mounted.sh("albumfs check --password-file $P $S")
      try mounted.mount()
    }
  }

  @Test func theSettingsStayInTheSpace() throws {
    try withPhotos { mounted in
      try mounted.sh(
        """
        albumfs history $M | grep -q '30 days, on a full disk for 7 days'
        albumfs history $M --keep 90d --at-least 14d | grep -q '90 days, on a full disk for 14 days'
        code=0; albumfs history $M --keep 10d --at-least 20d 2>/dev/null || code=$?; test $code = 1
        """)
      try mounted.remount()
      try mounted.sh(
        """
        albumfs history $M | grep -q '90 days, on a full disk for 14 days'
        albumfs history $M --off --password-file $P | grep -q 'gone at once'
        rm $M/Trip/Photo/a.jpg; test -z "$(albumfs deleted list -q $M)"
        albumfs history $M --on; rm $M/Trip/Photo/b.jpg; albumfs deleted list $M | grep -q b.jpg
        """)
    }
  }
}
