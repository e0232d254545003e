import AlbumTestSupport
import Foundation
import Testing

/// Large files, and many files. With ALBUMFS_LONG_TESTS (`scripts/test --long`) in the promised sizes,
/// otherwise in smaller ones that find the same mistakes.
@Suite(.serialized) struct ScaleTests {
  private static let isLong = ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] != nil
  private static let mostKilobytes = Sanitizer.isOn ? 1_000_000 : 100_000

  @Test func aLargeFileComesBackByteForByte() throws {
    let mebibytes = Self.isLong ? 4096 : 300
    try MountedStore.use(initOptions: ["--segment-size", "4M"]) { mounted in
      try mounted.sh("mkdir $M/Films")
      try mounted.sh(
        "head -c \(mebibytes)M /dev/urandom | tee $M/Films/film | sha256sum > $W/sum")
      let sum = try mounted.sh("cat $W/sum")
      #expect(try mounted.sh("sha256sum < $M/Films/film") == sum)
      #expect(try mounted.sh("stat -c %s $M/Films/film") == "\(mebibytes << 20)")
      try mounted.remount()
      #expect(try mounted.sh("sha256sum < $M/Films/film") == sum)
      #expect(try residentKilobytes(mounted) < Self.mostKilobytes)
    }
  }

  @Test func manyFilesInManyAlbumsNeedLittleMemoryAndMountAtOnce() throws {
    let (albums, files) = Self.isLong ? (100, 1000) : (50, 100)
    try MountedStore.use { mounted in
      try mounted.python(
        """
        for album in range(\(albums)):
            top = f"{M}/Album {album}"
            os.mkdir(top)
            for number in range(\(files)): put(f"{top}/Photo/IMG_{number:05}.txt", b"%d %d" % (album, number))
        """)
      try mounted.sync()
      #expect(try residentKilobytes(mounted) < Self.mostKilobytes, "after writing")
      try mounted.remount()
      #expect(try mounted.sh("find $M -name '*.txt' | wc -l") == "\(albums * files)")
      #expect(try residentKilobytes(mounted) < Self.mostKilobytes, "after a mount and a walk")
      try mounted.python(
        """
        for album in range(\(albums)):
            for number in range(0, \(files), 7):
                assert get(f"{M}/Album {album}/Photo/IMG_{number:05}.txt") == b"%d %d" % (album, number)
        """)
      // Prints the duration, because a test asserts no time.
      try mounted.unmount()
      let start = ContinuousClock.now
      try mounted.mount()
      print("mounted \(albums * files) files in \(ContinuousClock.now - start)")
      try mounted.sh("rm -r $M/*; test -z \"$(ls -A $M)\"")
      #expect(try residentKilobytes(mounted) < Self.mostKilobytes, "after removing all")
    }
  }

  private func residentKilobytes(_ mounted: MountedStore) throws -> Int {
    let line = try mounted.sh("grep VmRSS /proc/\(mounted.daemon)/status")
    return Int(line.split(separator: " ").dropLast().last.map(String.init) ?? "") ?? .max
  }
}
