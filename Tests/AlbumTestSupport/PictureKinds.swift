package import Foundation

// Pictures of every kind that gets a thumbnail, by names like those of libvips, so that a test can go
// through all of them.

extension TestPictures {
  /// The raw kinds, as names for `make`. The preview of each is a JPEG.
  package static let rawKinds = ["raw:tiff", "raw:cr2", "raw:rw2", "raw:orf", "raw:cr3", "raw:raf"]

  /// Pictures whose levels are spread, as names for `make`: 10 and 12 bits in 16, 32 bits, numbers with a
  /// point.
  package static let measuredKinds = [
    "measured:10:png", "measured:12:png", "measured:12:tif", "measured:32:tif",
    "measured:float:tif",
  ]

  /// Pictures with a small one of 160 pixels beside them, as names for `make`.
  package static let kindsWithSmallPicture = ["small:heic", "small:avif"]

  /// Animations, as names for `make`: the first frame is the picture, all others are grey.
  package static let animatedKinds = ["animated:gif", "animated:webp"]

  /// Kinds that albumfs decodes itself, as names for `make`.
  package static let plainKinds = [
    "plain:bmp", "plain:tga", "plain:pcx", "plain:ico", "plain:psd", "plain:psb",
  ]

  /// A picture of a PPM's pixels: `kind` is one of the names above or a format of libvips.
  package static func make(_ pixels: Data, as kind: String) throws -> [UInt8] {
    let words = kind.split(separator: ":").map(String.init)
    switch words[0] {
    case "raw": return try raw(words[1], of: encode(pixels, as: "jpg[Q=90]"), orientation: 1)
    case "measured": return try measured(pixels, levels: words[1], as: words[2])
    case "animated": return try animation(pixels, as: words[1])
    case "plain": return try plain(pixels, as: words[1])
    case "small": return try withSmallPicture(pixels, as: words[1])
    default: return try encode(pixels, as: kind)
    }
  }

  /// A picture of which nothing is left but its head, and the small picture at its end if it has one.
  package static func hollow(_ picture: [UInt8]) -> [UInt8] {
    // The content of a HEIC or AVIF begins behind the name of this box.
    let box = Array("mdat".utf8)
    let start = picture.indices.first { picture[$0...].starts(with: box) }.map { $0 + box.count }
    var result = picture
    for index in (start ?? picture.count / 10)..<picture.count * 6 / 10 { result[index] = 0xFF }
    return result
  }

  /// A raw file of one of the kinds around previews, of which the last is the largest.
  package static func raw(_ kind: String, of previews: [UInt8], orientation: Int) -> [UInt8] {
    switch kind {
    case "cr2": RawSamples.cr2(preview: previews, orientation: orientation)
    case "rw2": RawSamples.rw2(preview: previews, orientation: orientation)
    case "orf": RawSamples.orf(preview: previews, orientation: orientation)
    case "cr3": RawSamples.cr3(preview: previews, orientation: orientation)
    case "raf": RawSamples.raf(preview: previews)
    default: RawSamples.tiff(preview: previews, orientation: orientation)
    }
  }

  private static func animation(_ pixels: Data, as format: String) throws -> [UInt8] {
    let codec = format == "webp" ? ["-c:v", "libwebp_anim", "-lossless", "1"] : []
    return try Workshop.open { shop in
      try shop.write(pixels, "1.ppm")
      for number in 2...4 {
        try shop.run("vips", "linear", "1.ppm", "\(number).ppm[strip]", "0", "128", "--uchar")
      }
      let input = ["-framerate", "2", "-i", "%d.ppm"]
      try shop.run("ffmpeg", ["-v", "error", "-y"] + input + codec + ["out." + format])
      return try shop.read("out." + format)
    }
  }

  /// PSD and PSB show the four quarters, whatever the pixels are: no program of Debian writes them.
  private static func plain(_ pixels: Data, as format: String) throws -> [UInt8] {
    if format.hasPrefix("ps") { return PlainSamples.psd(.colour, isLarge: format == "psb") }
    // Icons have at most 256 pixels.
    let options = ["ico": ["-vf", "scale=240:-1", "-pix_fmt", "bgra", "-c:v", "bmp"]]
    return try Workshop.open { shop in
      try shop.write(pixels, "in.ppm")
      try shop.run(
        "ffmpeg",
        ["-v", "error", "-y", "-i", "in.ppm"] + options[format, default: []]
          + ["-frames:v", "1", "out." + format])
      return try shop.read("out." + format)
    }
  }

  private static func measured(_ pixels: Data, levels: String, as format: String) throws -> [UInt8]
  {
    let (factor, offset, type, interpretation) =
      switch levels {
      case "10": ("4", "0", "ushort", "rgb16")
      case "12": ("16", "0", "ushort", "rgb16")
      case "32": ("1000", "70000", "int", "srgb")
      default: ("0.001", "7", "float", "srgb")
      }
    return try Workshop.open { shop in
      try shop.write(pixels, "in.ppm")
      try shop.run("vips", "linear", "in.ppm", "a.v", factor, offset)
      try shop.run("vips", "cast", "a.v", "b.v", type)
      let name = "out." + format
      try shop.run("vips", "copy", "b.v", name, "--interpretation", interpretation)
      return try shop.read(name)
    }
  }

  private static func withSmallPicture(_ pixels: Data, as format: String) throws -> [UInt8] {
    try Workshop.open { shop in
      try shop.write(pixels, "in.ppm")
      try shop.run("vips", "copy", "in.ppm", "in.png")
      let codec = format == "avif" ? ["-A"] : []
      try shop.run("heif-enc", codec + ["-q", "80", "-t", "160", "in.png", "-o", "out." + format])
      return try shop.read("out." + format)
    }
  }
}
