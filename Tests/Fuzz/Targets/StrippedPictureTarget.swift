import AlbumTestSupport
import PictureMetadata

/// A picture without its metadata, of any bytes: it takes bounded pieces, has the stated size, and has
/// nothing more to strip.
enum StrippedPictureTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let pixels = TestPictures.pixels(width: 32, height: 20)
    let kinds = ["jpg", "jpg[interlace]", "png", "webp", "gif", "heic", "avif"]
    let plain = kinds.compactMap { try? TestPictures.encode(pixels, as: $0) }
    let tagged = zip(kinds, plain).compactMap { kind, picture in
      try? TestPictures.tag(
        picture, String(kind.prefix { $0 != "[" }), "-Orientation#=6", "-XMP:Creator=Somebody",
        "-Comment=x")
    }
    return plain + tagged + [ExifSamples.jpeg(), ExifSamples.heic(), ExifSamples.png()]
  }

  private static func strip(_ bytes: [UInt8]) -> [UInt8]? {
    let plan = try? StrippedPicture.plan(size: Int64(bytes.count)) { count, offset in
      require(count >= 0 && count <= 4 << 20 && offset >= 0, "it reads pieces of bounded size")
      return offset >= bytes.count ? [] : Array(bytes[Int(offset)...].prefix(count))
    }
    guard let plan else { return nil }
    require(plan.size <= Int64(bytes.count) + 128, "it adds little more than an orientation")
    var result: [UInt8] = []
    for piece in plan.pieces {
      switch piece {
      case .part(let part): result += bytes[Int(part.lowerBound)..<Int(part.upperBound)]
      case .bytes(let bytes): result += bytes
      case .zeros(let count): result += [UInt8](repeating: 0, count: Int(count))
      }
    }
    require(Int64(result.count) == plan.size, "the size is the stated one")
    return result
  }

  static func run(_ bytes: [UInt8]) {
    // A few markers without a picture are too little to tell their kind.
    guard let once = strip(bytes), once.count >= 12 else { return }
    require(strip(once) == once, "a second run changes nothing")
  }
}
