/// Why a picture cannot be decoded.
package enum DecodingFault: Error, Equatable, Sendable {
  /// It ends too early, or contradicts itself.
  case damaged
  /// A variety of its kind that is not decoded.
  case unknown
  case tooLarge
}

/// Pixels, row by row, a byte each band.
package struct DecodedPicture: Equatable, Sendable {
  package enum Bands: Int, Sendable {
    case grey = 1
    case colour = 3
    case colourAndAlpha = 4
    /// Cyan, magenta, yellow, black: 0 is no ink. As many bands as `colourAndAlpha`.
    case inks = -4

    package var count: Int { abs(rawValue) }
  }

  package var width: Int
  package var height: Int
  /// Before it was shrunk.
  package var fullWidth: Int
  package var fullHeight: Int
  package var bands: Bands
  package var bytes: [UInt8]
  /// False if the picture ends before its last row.
  package var isComplete: Bool
  /// Where the file has an ICC profile; nil if it has none.
  package var profile: Range<Int>?
}

/// Averages the rows of a picture to squares of its pixels as they come, so that it needs little memory
/// however large the picture is.
struct Canvas {
  /// The limits of a picture: its edge in pixels, and its pixels.
  private static let edgeLimit = 300_000
  private static let pixelLimit = 500_000_000
  /// The pixels of a result: the sums of four bands take 32 bytes for each.
  private static let resultLimit = 4096 * 4096

  let width: Int
  let height: Int
  let bands: DecodedPicture.Bands
  private let factor: Int
  private let columns: Int
  private let lines: Int
  private var sums: [UInt64]
  private(set) var rowsAdded = 0

  /// The result has at least this edge, or that of the picture if that is shorter. It has less, but more than
  /// half of it, if the cell's memory would not hold it.
  init(width: Int, height: Int, _ bands: DecodedPicture.Bands, edge: Int) throws(DecodingFault) {
    guard width > 0, height > 0 else { throw .damaged }
    guard width <= Canvas.edgeLimit, height <= Canvas.edgeLimit,
      width * height <= Canvas.pixelLimit
    else { throw .tooLarge }
    self.width = width
    self.height = height
    self.bands = bands
    var factor = max(1, max(width, height) / max(1, edge))
    func squares(_ length: Int) -> Int { (length + factor - 1) / factor }
    while squares(width) * squares(height) > Canvas.resultLimit { factor += 1 }
    self.factor = factor
    columns = squares(width)
    lines = squares(height)
    sums = [UInt64](repeating: 0, count: columns * lines * bands.count)
  }

  /// Adds a row whose bands lie beside each other. A colour counts as much as its pixel is opaque.
  mutating func add(_ row: [UInt8], at y: Int) {
    let count = bands.count
    precondition(row.count >= width * count && y < height, "no row of this picture")
    rowsAdded += 1
    var target = y / factor * columns * count
    for start in stride(from: 0, to: width, by: factor) {
      let square = start * count..<min(width, start + factor) * count
      for source in stride(from: square.lowerBound, to: square.upperBound, by: count) {
        if bands == .colourAndAlpha {
          let alpha = UInt64(row[source + 3])
          for band in 0..<3 { sums[target + band] += UInt64(row[source + band]) * alpha }
          sums[target + 3] += alpha
        } else {
          for band in 0..<count { sums[target + band] += UInt64(row[source + band]) }
        }
      }
      target += count
    }
  }

  /// Adds a row of one band.
  mutating func add(_ row: [UInt8], band: Int, at y: Int) {
    precondition(
      row.count >= width && y < height && bands != .colourAndAlpha, "no row of this band")
    if band == 0 { rowsAdded += 1 }
    var target = y / factor * columns * bands.count + band
    for start in stride(from: 0, to: width, by: factor) {
      var sum: UInt64 = 0
      for x in start..<min(width, start + factor) { sum += UInt64(row[x]) }
      sums[target] += sum
      target += bands.count
    }
  }

  /// Draws a picture, with alpha if the file has it. Programs that do not support alpha write zeros. So a
  /// picture of which nothing would be visible is drawn again, without alpha. `draw` returns false beside an
  /// incomplete canvas.
  static func picture(
    hasAlpha: Bool, _ draw: (_ usesAlpha: Bool) throws(DecodingFault) -> (Canvas, Bool)
  ) throws(DecodingFault) -> DecodedPicture {
    if hasAlpha {
      let (canvas, isComplete) = try draw(true)
      if !canvas.isInvisible { return try canvas.picture(isComplete: isComplete) }
    }
    let (canvas, isComplete) = try draw(false)
    return try canvas.picture(isComplete: isComplete)
  }

  /// True if every pixel is transparent.
  private var isInvisible: Bool {
    guard bands == .colourAndAlpha else { return false }
    return stride(from: 3, to: sums.count, by: 4).allSatisfy { sums[$0] == 0 }
  }

  /// The picture so far. Throws if it has no row at all.
  consuming func picture(isComplete: Bool) throws(DecodingFault) -> DecodedPicture {
    if rowsAdded == 0 { throw .damaged }
    var bytes = [UInt8](repeating: 0, count: sums.count)
    for line in 0..<lines {
      let tall = min(factor, height - line * factor)
      for column in 0..<columns {
        let pixels = UInt64(tall * min(factor, width - column * factor))
        let start = (line * columns + column) * bands.count
        let alpha = bands == .colourAndAlpha ? sums[start + 3] : 0
        for band in 0..<bands.count {
          let isColour = bands == .colourAndAlpha && band < 3
          let weight = isColour ? max(1, alpha) : pixels
          bytes[start + band] = UInt8((sums[start + band] + weight / 2) / weight)
        }
      }
    }
    return DecodedPicture(
      width: columns, height: lines, fullWidth: width, fullHeight: height, bands: bands,
      bytes: bytes, isComplete: isComplete, profile: nil)
  }
}

/// Numbers at offsets; an offset outside is damage.
extension Span<UInt8> {
  func byte(_ offset: Int) throws(DecodingFault) -> UInt8 {
    guard offset >= 0, offset < count else { throw .damaged }
    return self[offset]
  }

  func little16(_ offset: Int) throws(DecodingFault) -> Int {
    Int(try byte(offset)) | Int(try byte(offset + 1)) << 8
  }

  func little32(_ offset: Int) throws(DecodingFault) -> Int {
    try little16(offset) | little16(offset + 2) << 16
  }

  func big16(_ offset: Int) throws(DecodingFault) -> Int {
    Int(try byte(offset)) << 8 | Int(try byte(offset + 1))
  }

  func big32(_ offset: Int) throws(DecodingFault) -> Int {
    try big16(offset) << 16 | big16(offset + 2)
  }

  func big64(_ offset: Int) throws(DecodingFault) -> Int {
    let high = try big32(offset)
    // No file has so many bytes.
    guard high < 1 << 20 else { throw .damaged }
    return try high << 32 | big32(offset + 4)
  }

  func has(_ text: StaticString, at offset: Int) -> Bool {
    let length = text.utf8CodeUnitCount
    guard offset >= 0, count >= length, offset <= count - length else { return false }
    return text.withUTF8Buffer { text in
      for index in 0..<length where unsafe self[offset + index] != text[index] { return false }
      return true
    }
  }
}
