import AlbumFormat
package import Foundation

/// Pictures for these tests: four quarters of one colour each, which show the orientation. Upright: red,
/// green over blue, white. libvips' and ExifTool's programs, which scripts/test installs, make them.
package enum TestPictures {
  package typealias Colour = [UInt8]
  package static let red: Colour = [220, 30, 30]
  package static let green: Colour = [30, 200, 40]
  package static let blue: Colour = [30, 40, 220]
  package static let white: Colour = [240, 240, 240]

  /// A PPM of the picture as a camera stores it for the EXIF orientation, 640 by 400 when upright.
  package static func pixels(storedFor orientation: Int = 1, width: Int = 640, height: Int = 400)
    -> Data
  {
    // Quarters stay quarters: top left, top right, bottom left, bottom right as stored.
    let quarters =
      switch orientation {
      case 2: [green, red, white, blue]
      case 3: [white, blue, green, red]
      case 4: [blue, white, red, green]
      case 5: [red, blue, green, white]
      case 6: [green, white, red, blue]
      case 7: [white, green, blue, red]
      case 8: [blue, red, white, green]
      default: [red, green, blue, white]
      }
    let (columns, rows) = orientation >= 5 ? (height, width) : (width, height)
    func row(_ left: Colour, _ right: Colour) -> Data {
      Data([[Colour]](repeating: [left], count: columns / 2).joined().joined())
        + Data([[Colour]](repeating: [right], count: columns - columns / 2).joined().joined())
    }
    let top = row(quarters[0], quarters[1])
    let bottom = row(quarters[2], quarters[3])
    var bytes = Data("P6\n\(columns) \(rows)\n255\n".utf8)
    for number in 0..<rows { bytes += number < rows / 2 ? top : bottom }
    return bytes
  }

  /// A PPM with content everywhere, whose noise depends on the seed.
  package static func lively(seed: UInt64, width: Int, height: Int, brightness: Int) -> Data {
    var random = SeededRandom(seed: seed)
    var body = random.bytes(width * height * 3)
    for index in body.indices {
      let (x, y) = (index / 3 % width, index / 3 / width)
      let level = brightness + (x * 3 + y * 5 + index % 3 * 40) % 90
      body[index] = UInt8(clamping: level + Int(body[index]) % 21)
    }
    return Data("P6\n\(width) \(height)\n255\n".utf8) + body
  }

  /// Encodes a PPM by the extension of a file name of libvips, such as `jpg[Q=90]`.
  package static func encode(_ pixels: Data, as format: String) throws -> [UInt8] {
    try TestVips.encode(Array(pixels), as: format)
  }

  /// A JPEG with the orientation, a place and a comment in its metadata.
  package static func jpeg(orientation: Int) throws -> [UInt8] {
    try SharedFiles.file("jpeg \(orientation)") {
      try tag(
        encode(pixels(storedFor: orientation), as: "jpg[Q=90]"), "jpg",
        "-Orientation#=\(orientation)", "-GPSLatitude=48.1", "-GPSLatitudeRef=N",
        "-XMP:Creator=Somebody", "-IPTC:Keywords=secret", "-Comment=secret")
    }
  }

  /// Writes tags with ExifTool.
  package static func tag(_ picture: [UInt8], _ format: String, _ tags: String...) throws -> [UInt8]
  {
    try tag(picture, format, tags)
  }

  package static func tag(_ picture: [UInt8], _ format: String, _ tags: [String]) throws -> [UInt8]
  {
    try Workshop.open { shop in
      let name = "picture." + format
      try shop.write(Data(picture), name)
      _ = try ExifTool.run(["-overwrite_original"] + tags + [shop.path(name)])
      return try shop.read(name)
    }
  }

  /// All tags that ExifTool finds in the content, with their group, as `Group:Name`.
  package static func tags(of picture: [UInt8]) throws -> [String] {
    try Workshop.open { shop in
      try shop.write(Data(picture), "picture")
      let output = try ExifTool.run(["-a", "-u", "-G1", "-s", shop.path("picture")])
      // "[GPS]    GPSLatitude    : 48 deg".
      return output.split(separator: "\n").compactMap { line in
        guard line.first == "[", let end = line.firstIndex(of: "]") else { return nil }
        let name = line[line.index(after: end)...].drop { $0 == " " }.prefix { $0 != " " }
        return line[..<end].dropFirst() + ":" + name
      }
    }
  }

  /// Decodes any picture into pixels.
  package static func decode(_ picture: [UInt8]) throws -> Pixels {
    try TestVips.decode(picture)
  }
}

/// A decoded picture of one byte a band.
package struct Pixels: CustomStringConvertible {
  package var description: String { "\(width) by \(height), quarters \(quarters)" }
  package var width: Int
  package var height: Int
  package var bands: Int
  package var bytes: [UInt8]

  package subscript(x: Int, y: Int) -> [UInt8] {
    let start = (y * width + x) * bands
    return Array(bytes[start..<start + bands])
  }

  /// The colours in the middle of the four quarters: top left, top right, bottom left, bottom right.
  package var quarters: [[UInt8]] {
    [(1, 1), (3, 1), (1, 3), (3, 3)].map { Array(self[width * $0 / 4, height * $1 / 4].prefix(3)) }
  }

  /// True if the four quarters are those of `TestPictures`, within the error of a lossy format.
  package var isUpright: Bool {
    let wanted = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
    return zip(quarters, wanted).allSatisfy { Pixels.isClose($0, $1) }
  }

  package static func isClose(_ a: [UInt8], _ b: [UInt8], by distance: Int = 40) -> Bool {
    zip(a, b).allSatisfy { abs(Int($0) - Int($1)) <= distance }
  }
}

/// A directory of its own in which programs run, removed afterwards.
package struct Workshop {
  package struct Failed: Error { var program: String, output: String }

  private let directory: URL

  package static func open<T>(_ body: (Workshop) throws -> T) throws -> T {
    let shop = Workshop(
      directory: FileManager.default.temporaryDirectory
        .appendingPathComponent("albumfs-" + UUID().uuidString))
    try FileManager.default.createDirectory(at: shop.directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: shop.directory) }
    return try body(shop)
  }

  package func path(_ name: String) -> String { directory.path + "/" + name }

  package func write(_ data: Data, _ name: String) throws {
    try data.write(to: directory.appendingPathComponent(name))
  }

  package func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: directory.appendingPathComponent(name)))
  }

  @discardableResult
  package func run(_ program: String, _ arguments: String...) throws -> String {
    try run(program, arguments)
  }

  /// Runs the command in the directory; returns its standard output without the newline at the end.
  @discardableResult
  package func run(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.currentDirectoryURL = directory
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self)
    guard process.terminationStatus == 0 else {
      throw Failed(program: ([program] + arguments).joined(separator: " "), output: text)
    }
    return text.trimmingCharacters(in: .newlines)
  }
}
