import Foundation

/// Pictures of the kinds that albumfs decodes itself: the quarters of `TestPictures`. ffmpeg makes what it
/// can; the others are built here byte by byte.
package enum PlainSamples {
  /// By the extension of a file, and ffmpeg's options.
  package static let made: [(extension: String, options: [String])] = [
    ("bmp", ["-pix_fmt", "bgr24"]), ("bmp", ["-pix_fmt", "bgra"]),
    ("bmp", ["-pix_fmt", "rgb565le"]),
    ("bmp", ["-pix_fmt", "rgb555le"]), ("bmp", ["-pix_fmt", "rgb8"]),
    ("bmp", ["-pix_fmt", "rgb4_byte"]),
    ("tga", ["-pix_fmt", "bgr24", "-rle", "0"]), ("tga", ["-pix_fmt", "bgr24", "-rle", "1"]),
    ("tga", ["-pix_fmt", "bgra", "-rle", "1"]), ("tga", ["-pix_fmt", "rgb555le", "-rle", "1"]),
    ("pcx", ["-pix_fmt", "rgb24"]), ("pcx", ["-pix_fmt", "rgb8"]),
    ("ico", ["-pix_fmt", "bgra", "-c:v", "bmp"]),
    ("ico", ["-pix_fmt", "rgba", "-c:v", "png"]),
  ]

  package static func make(_ name: String, _ options: [String]) throws -> [UInt8] {
    try SharedFiles.file("plain \(name) \(options)") {
      try Workshop.open { shop in
        try shop.write(TestPictures.pixels(width: 240, height: 150), "in.ppm")
        try shop.run(
          "ffmpeg",
          ["-v", "error", "-y", "-i", "in.ppm"] + options + ["-frames:v", "1", "out." + name])
        return try shop.read("out." + name)
      }
    }
  }

  private static func quarter(_ x: Int, _ y: Int, _ width: Int, _ height: Int)
    -> TestPictures.Colour
  {
    let colours = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
    return colours[(x < width / 2 ? 0 : 1) + (y < height / 2 ? 0 : 2)]
  }

  private static func little(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  private static func big(_ number: Int, _ count: Int) -> [UInt8] {
    little(number, count).reversed()
  }

  /// A BMP of 8 bits in runs, some of which are literal.
  package static func bmpInRuns() -> [UInt8] {
    let (width, height) = (200, 100)
    var pixels: [UInt8] = []
    for y in (0..<height).reversed() {
      let left: UInt8 = y < height / 2 ? 0 : 2
      pixels += [0, 50] + [UInt8](repeating: left, count: 50) + [50, left, 100, left + 1, 0, 0]
    }
    pixels += [0, 1]
    let colours = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
    let palette: [UInt8] = colours.flatMap { colour -> [UInt8] in
      [colour[2], colour[1], colour[0], 0]
    }
    let start = 14 + 40 + palette.count
    var file = Array("BM".utf8)
    file += little(start + pixels.count, 4) + little(0, 4) + little(start, 4)
    file += little(40, 4) + little(width, 4) + little(height, 4) + little(1, 2) + little(8, 2)
    file += little(1, 4) + little(pixels.count, 4) + little(0, 8)
    file += little(4, 4) + little(0, 4)
    return file + palette + pixels
  }

  /// A bitmap of OS/2, with a palette of 16 colours.
  package static func bmpOfOS2() -> [UInt8] {
    let (width, height) = (200, 100)
    let colours = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
    let four: [UInt8] = colours.flatMap { colour -> [UInt8] in [colour[2], colour[1], colour[0]] }
    let palette = four + [UInt8](repeating: 0, count: 12 * 3)
    var pixels: [UInt8] = []
    for y in (0..<height).reversed() {
      let left: UInt8 = y < height / 2 ? 0 : 2
      pixels += [UInt8](repeating: left << 4 | left, count: 50)
      pixels += [UInt8](repeating: (left + 1) << 4 | (left + 1), count: 50)
    }
    var file = Array("BM".utf8)
    file += little(0, 8) + little(26 + palette.count, 4) + little(12, 4)
    file += little(width, 2) + little(height, 2) + little(1, 2) + little(4, 2)
    return file + palette + pixels
  }

  package enum PhotoshopMode: Int, CaseIterable, Sendable {
    case palette = 2
    case colour = 3
    case inks = 4
  }

  /// A PSD or, if `isLarge`, a PSB.
  package static func psd(
    _ mode: PhotoshopMode, width: Int = 240, height: Int = 150, depth: Int = 8,
    isPacked: Bool = true, isLarge: Bool = false
  ) -> [UInt8] {
    let channels = mode == .palette ? 1 : mode == .colour ? 3 : 4
    var rows: [[UInt8]] = []
    for channel in 0..<channels {
      for y in 0..<height {
        var row: [UInt8] = []
        for x in 0..<width {
          let colour = quarter(x, y, width, height)
          let level: UInt8 =
            switch mode {
            case .palette: UInt8((x < width / 2 ? 0 : 1) + (y < height / 2 ? 0 : 2))
            case .colour: colour[channel]
            // No black; as Photoshop keeps inks, 255 is none.
            case .inks: channel == 3 ? 255 : colour[channel]
            }
          row += depth == 16 ? [level, 0] : [level]
        }
        rows.append(isPacked ? packed(row) : row)
      }
    }
    let colours = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
    let palette: [UInt8] = (0..<3).flatMap { band -> [UInt8] in
      colours.map { $0[band] } + [UInt8](repeating: 0, count: 252)
    }
    let table = mode == .palette ? palette : []
    // One resource, whose name and content have odd lengths.
    var resource = Array("8BIM".utf8) + big(1005, 2)
    resource += [1, 65] + big(3, 4) + [1, 2, 3, 0]
    var file = Array("8BPS".utf8) + big(isLarge ? 2 : 1, 2) + big(0, 6)
    file += big(channels, 2) + big(height, 4) + big(width, 4) + big(depth, 2)
    file += big(mode.rawValue, 2) + big(table.count, 4) + table
    file += big(resource.count, 4) + resource + big(0, isLarge ? 8 : 4)
    file += big(isPacked ? 1 : 0, 2)
    if isPacked { for row in rows { file += big(row.count, isLarge ? 4 : 2) } }
    for row in rows { file += row }
    return file
  }

  /// PackBits: runs of equal bytes, and the first byte of each as a literal.
  private static func packed(_ row: [UInt8]) -> [UInt8] {
    var packed: [UInt8] = []
    var place = 0
    while place < row.count {
      packed += [0, row[place]]
      place += 1
      let run = row[place...].prefix(128).prefix { $0 == row[place - 1] }.count
      if run > 1 {
        packed += [UInt8(257 - run), row[place]]
        place += run
      }
    }
    return packed
  }
}
