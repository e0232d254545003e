import AlbumTestSupport
import Foundation
import Testing

/// `albumfs check` on a space with real photos.
@Suite(.serialized) struct CheckTests {
  private static let check = "albumfs check --password-file $P $S"

  /// Changes one byte in every segment that was written since `before`, in the middle of its content.
  private static let damage = """
    import glob
    for path in glob.glob(S + "/segments/*/*"):
        if path in before: continue
        with open(path, "r+b") as f:
            f.seek(300_000); b = f.read(1); f.seek(300_000); f.write(bytes([b[0] ^ 1]))

    """

  @Test func aMountedSpaceIsRefusedAndAHealthyOneIsFound() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("cp -r $W/pictures $M/Trip; albumfs sync $M")
      let refused = try mounted.sh("\(Self.check) && exit 1; echo $?")
      #expect(refused.contains("40"))
      try mounted.unmount()
      #expect(try mounted.sh("\(Self.check) --json").contains("\"damaged\" : false"))
      // With a terminal at standard error there is a bar.
      let shown = try mounted.sh("script -qec \"\(Self.check)\" /dev/null")
      #expect(shown.contains("["))
      #expect(shown.contains("%"))
      try mounted.mount()
    }
  }

  /// Shared records name their first place: another file, or another place in this one.
  @Test func contentThatWasCopiedWithinTheMountIsNoDamage() throws {
    try MountedStore.use { mounted in
      try mounted.python(
        """
        D = M + "/.plain"; os.mkdir(D); random.seed(10)
        def share(source, at, target, to, count):
            with open(source, "rb") as one, open(target, "r+b") as other:
                while count > 0:
                    n = os.copy_file_range(one.fileno(), other.fileno(), count, at, to)
                    assert n > 0; at += n; to += n; count -= n
        whole = random.randbytes(300_000)
        put(D + "/within", whole); share(D + "/within", 0, D + "/within", 400_000, 300_000)
        assert get(D + "/within") == whole + bytes(100_000) + whole
        put(D + "/a", whole); put(D + "/b")
        share(D + "/a", 10_000, D + "/b", 70_001, 200_000)
        share(D + "/b", 70_001, D + "/a", 500_000, 200_000); os.remove(D + "/b")
        put(W + "/sum", hashlib.sha256(get(D + "/a") + get(D + "/within")).digest())
        """)
      for way in ["written", "compacted"] {
        try mounted.sync()
        try mounted.unmount()
        let told = try mounted.sh("\(Self.check) --json")
        #expect(told.contains("\"damaged\" : false"), "\(way)")
        try mounted.mount()
        try mounted.python(
          """
          D = M + "/.plain"
          assert get(W + "/sum") == hashlib.sha256(get(D + "/a") + get(D + "/within")).digest()
          """)
        try mounted.sh("albumfs compact $M")
      }
    }
  }

  @Test func aDamagedPhotoIsNamedAndBroughtBackWithWhatIsLeft() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("cp -r $W/pictures $M/Trip; albumfs sync $M")
      try mounted.remount()
      try mounted.python(
        """
        import glob
        put(W + "/before", "\\n".join(glob.glob(S + "/segments/*/*")).encode())
        put(M + "/Trip/big.bin", random.randbytes(900_000))
        """)
      try mounted.unmount()
      try mounted.python(
        "before = get(W + '/before').decode().split()\n" + Self.damage)
      let told = try mounted.sh("\(Self.check) && exit 1; test $? = 26")
      #expect(told.contains("Trip/big.bin: bytes"))
      _ = try mounted.sh("\(Self.check) --repair && exit 1; test $? = 26; \(Self.check)")
      try mounted.mount()
      try mounted.sh("test -f $M/Recovered/Photo/big.bin; test ! -e $M/Trip/big.bin")
      try mounted.sh("test $(stat -c %s $M/Recovered/Photo/big.bin) = 900000")
      try mounted.sh("diff -r $W/pictures $M/Trip/ | grep -v '^Only in' && exit 1; true")
    }
  }
}
