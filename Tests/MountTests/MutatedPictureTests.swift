import AlbumTestSupport
import Foundation
import Testing

/// Pictures and videos of every kind with bytes changed at random, as a card that fails or an enemy makes them.
///
/// Method: every picture is copied in twice, the second time after a new mount and in another order, so that
/// the workers have decoded others before. Both get the same thumbnail, or none; the daemon lives, and its
/// memory does not grow with their number.
@Suite(.serialized, .disabled(if: Sanitizer.isOn, "sanitizers bring a malloc of their own"))
struct MutatedPictureTests {
  private static let kinds =
    [
      "jpg", "jpg[interlace]", "png", "png[interlace]", "webp", "gif", "tif", "heic", "avif", "jxl",
      "jp2",
    ] + TestPictures.animatedKinds + TestPictures.plainKinds + TestPictures.rawKinds
    + TestPictures.measuredKinds + TestPictures.kindsWithSmallPicture

  /// Changes bytes, moves some, or cuts the end off.
  private static func mutated(_ whole: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    var picture = whole
    // Half of them keep their head, without which most decoders do nothing.
    let start = Bool.random(using: &random) ? min(600, whole.count / 4) : 4
    for _ in 0..<Int.random(in: 1...40, using: &random) {
      let place = Int.random(in: start..<picture.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: picture[place] = [0, 0xFF, 0x7F, 0x80].randomElement(using: &random)!
      case 1:
        let other = Int.random(in: start..<picture.count, using: &random)
        let count = min(32, picture.count - max(place, other))
        for offset in 0..<count { picture[place + offset] = picture[other + offset] }
      default: picture[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
    }
    if Int.random(in: 0..<4, using: &random) == 0 {
      picture.removeLast(Int.random(in: 0..<picture.count / 2, using: &random))
    }
    return picture
  }

  private static func lively(_ random: inout SeededRandom) -> Data {
    var pixels = TestPictures.pixels(width: 320, height: 200)
    for index in 15..<pixels.count {
      pixels[index] = UInt8(
        clamping: Int(pixels[index]) + Int.random(in: -20...20, using: &random))
    }
    return pixels
  }

  private static let isLong = ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] != nil

  @Test func theSameTwiceAndNoHarm() throws {
    let seed = SeededRandom().seed
    print("mutated pictures: seed \(seed)")
    var random = SeededRandom(seed: seed)
    try MountedStore.use { mounted in
      let pixels = Self.lively(&random)
      for (number, kind) in Self.kinds.enumerated() {
        let whole = try TestPictures.make(pixels, as: kind)
        for variant in 0..<(Self.isLong ? 60 : 1) {
          try mounted.write(
            Data(Self.mutated(whole, &random)), "pictures/\(variant)-\(number)")
        }
      }
      for (number, kind) in TestVideos.kinds.enumerated() {
        let whole = try TestVideos.make(kind.extension, kind.options)
        for variant in 0..<(Self.isLong ? 60 : 1) {
          try mounted.write(
            Data(Self.mutated(whole, &random)), "pictures/\(variant)-video-\(number)")
        }
      }
      let first = try thumbnails(mounted, album: "First", order: "")
      let size = try residentMemory(of: mounted.daemon)
      try mounted.remount()
      let second = try thumbnails(mounted, album: "Second", order: "-r")
      #expect(first.count > Self.kinds.count / 6, "seed \(seed): nearly nothing is shown")
      for name in Set(first.keys).union(second.keys).sorted() {
        #expect(first[name] == second[name], "seed \(seed): \(name)")
      }
      // Once more in the same daemon.
      let before = try residentMemory(of: mounted.daemon)
      #expect(try thumbnails(mounted, album: "Third", order: "-t- -k2") == second, "seed \(seed)")
      let grown = try residentMemory(of: mounted.daemon) - max(before, size)
      #expect(grown < 24 << 10, "seed \(seed): the daemon grew by \(grown) KiB")
      #expect(try mounted.status().pid == mounted.daemon)
    }
  }

  /// Copies the pictures into an album; returns a checksum of the thumbnail of each that has one.
  private func thumbnails(_ mounted: MountedStore, album: String, order: String) throws
    -> [String: String]
  {
    try mounted.sh(
      "mkdir $M/\(album); cd $W/pictures; ls | sort \(order) | xargs cp -t $M/\(album)/Photo")
    try mounted.sync()
    let lines = try mounted.sh("cd $M/\(album)/Thumb; find . -type f | xargs -r sha256sum")
    return Dictionary(
      uniqueKeysWithValues: lines.split(separator: "\n").map { line in
        let words = line.split(separator: " ")
        return (String(words[1]), String(words[0]))
      })
  }

  /// In KiB.
  private func residentMemory(of process: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS") })
    return try #require(line.split(separator: " ").compactMap { Int($0) }.first)
  }
}
