import AlbumModel
import AlbumTestSupport
import Foundation
import Testing
import ThumbnailProtocol
import Thumbnails

/// No thumbnail shows another photo. The undecoded parts of a damaged picture show nothing that the same
/// process decoded before.
///
/// Method: a process that has decoded nothing, and one that has decoded bright pictures of that kind and
/// others, both decode every damaged picture. The bytes must be the same.
@Suite(.serialized, .disabled(if: Sanitizer.isOn, "sanitizers bring a malloc of their own"))
struct FreshMemoryTests {
  /// Names for `TestPictures.make` of the kinds and their varieties: every way in which a picture is decoded.
  static let formats =
    [
      "jpg[Q=90]", "jpg[Q=90,interlace]", "png", "png[interlace]", "webp", "webp[lossless]", "gif",
      "tif", "tif[compression=deflate,tile]", "tif[compression=jpeg]", "heic[Q=80]", "avif[Q=80]",
      "jxl", "jxl[lossless]", "jp2",
    ] + TestPictures.rawKinds + TestPictures.measuredKinds + TestPictures.kindsWithSmallPicture

  /// Formats of which the decoders show nothing if the picture is cut short. Of every other format they must
  /// show a part, without which the test would see nothing.
  private static let showNoPart: Set = [
    "png[interlace]", "tif[compression=deflate,tile]", "jxl", "jxl[lossless]",
  ]

  /// Bright pictures of other kinds, which every test decodes before.
  private static let others = Result {
    let sizes = [("jpg", 900, 700), ("heic", 500, 380), ("png", 500, 380)]
    return try sizes.map { kind, width, height in
      try TestPictures.make(
        TestPictures.lively(
          seed: .random(in: 0...UInt64.max), width: width, height: height, brightness: 140),
        as: kind)
    }
  }

  private static let isLong = ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] != nil

  /// `pocked`: the number of variants with single changed bytes.
  private static func damaged(_ whole: [UInt8], pocked: Int, seed: UInt64) -> [[UInt8]] {
    var random = Seeded(state: seed)
    var result: [[UInt8]] = []
    for tenth in [2, 4, 5, 7, 9] { result.append(Array(whole.prefix(whole.count * tenth / 10))) }
    // The middle replaced by zeros or noise, or removed, and single bytes changed.
    let middle = whole.count * 4 / 10..<whole.count * 6 / 10
    var zeros = whole
    for index in middle { zeros[index] = 0 }
    var noise = whole
    for index in middle { noise[index] = UInt8.random(in: 0...255, using: &random) }
    let without = Array(whole[..<middle.lowerBound] + whole[middle.upperBound...])
    result += [zeros, noise, without, TestPictures.hollow(whole)]
    for _ in 0..<pocked {
      var pocked = whole
      for _ in 0..<12 {
        pocked[Int.random(in: whole.count / 10..<whole.count, using: &random)] ^= UInt8.random(
          in: 1...255, using: &random)
      }
      result.append(pocked)
    }
    return result
  }

  /// The zeros in the middle, of which a part shows whatever the seed is, the hollow one, and others that the
  /// seed chooses: every run tries some, the long run all.
  private static func some(of damaged: [[UInt8]], _ format: String, seed: UInt64) -> [[UInt8]] {
    var random = Seeded(state: seed)
    let always = [5, 8]
    let others = damaged.indices.filter { !always.contains($0) }.shuffled(using: &random)
    let count = format.hasPrefix("heic") ? 6 : 2
    return (always + others.prefix(count)).map { damaged[$0] }
  }

  /// Each commit tries a third of the formats, the long run all.
  private static let tried: [String] = {
    var random = Seeded(state: SeededRandom().seed)
    return isLong ? formats : Array(formats.shuffled(using: &random).prefix(formats.count / 3))
  }()

  @Test(
    "A damaged picture gives the same in a process that decoded others before", arguments: tried)
  func same(_ format: String) throws {
    let seed = SeededRandom().seed
    print("fresh memory, \(format): seed \(seed)")
    let whole = try TestPictures.make(
      TestPictures.lively(seed: seed, width: 500, height: 380, brightness: 20), as: format)
    // Pictures of the same size and of others, so that memory blocks are reused.
    var primers = try Self.others.get()
    for number in 1...2 {
      primers.append(
        try TestPictures.make(
          TestPictures.lively(
            seed: seed &+ UInt64(number), width: 500, height: 380, brightness: 140),
          as: format))
    }
    let primed = try TestWorker()
    for primer in primers { _ = try primed.thumbnail(of: primer) }
    var shown = 0
    // Areas that libde265 concealed have shown other photos.
    let pocked = Self.isLong ? 100 : format.hasPrefix("heic") ? 12 : 4
    var damaged = Self.damaged(whole, pocked: pocked, seed: seed)
    if !Self.isLong { damaged = Self.some(of: damaged, format, seed: seed) }
    for (number, picture) in damaged.enumerated() {
      _ = try primed.thumbnail(of: primers[number % primers.count])
      let fresh = try TestWorker()
      let inFresh = try fresh.ask(picture)
      let inPrimed = try primed.ask(picture)
      let label: Comment = "\(format), damage \(number), seed \(seed)"
      #expect(inFresh.withoutReason == inPrimed.withoutReason, label)
      if case .thumbnail = inFresh { shown += 1 }
    }
    print("\(format): \(shown) damaged ones show something")
    if !Self.showNoPart.contains(format) { #expect(shown > 0, "\(format), seed \(seed)") }
  }

  @Test("Blocks are zero again, however they are had")
  func unit() throws {
    let worker = try TestWorker()
    _ = try worker.thumbnail(of: TestPictures.encode(TestPictures.pixels(), as: "png"))
    guard let found = try worker.probe() else {
      Issue.record("no report")
      return
    }
    #expect(found.oldBytes == 0, "bytes of freed blocks in new ones")
  }
}

extension ThumbnailReply.Content {
  /// Removes the texts of libraries, which contain addresses and lengths.
  fileprivate var withoutReason: ThumbnailReply.Content {
    if case .failure(let failure, _) = self { return .failure(failure, reason: "") }
    return self
  }
}
