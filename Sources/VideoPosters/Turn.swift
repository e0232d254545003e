internal import AlbumModel

/// How a frame must be turned to be upright: mirrored along its rows and columns, after rows and columns were
/// exchanged or not. One of eight.
struct Turn: Equatable, Sendable {
  var exchangesAxes = false
  var mirrorsRows = false
  var mirrorsColumns = false

  init() {}

  init(_ rotation: Rotation) {
    exchangesAxes = rotation.isSideways
    mirrorsRows = rotation == .quarter || rotation == .half
    mirrorsColumns = rotation == .threeQuarters || rotation == .half
  }

  /// From the first two rows of a display matrix: a point (x, y) is shown at (ax + cy, bx + dy). Takes the
  /// turn nearest to a matrix that is none.
  init(a: Int32, b: Int32, c: Int32, d: Int32) {
    func size(_ number: Int32) -> Int64 { Int64(number.magnitude) }
    exchangesAxes = size(b) + size(c) > size(a) + size(d)
    mirrorsRows = exchangesAxes ? c < 0 : a < 0
    mirrorsColumns = exchangesAxes ? b < 0 : d < 0
  }

  func applied(to frame: PosterPixels) -> PosterPixels {
    if self == Turn() { return frame }
    let (width, height) =
      exchangesAxes ? (frame.height, frame.width) : (frame.width, frame.height)
    var turned = PosterPixels(width: width, height: height)
    for y in 0..<height {
      for x in 0..<width {
        let across = mirrorsRows ? width - 1 - x : x
        let down = mirrorsColumns ? height - 1 - y : y
        turned[x, y] = exchangesAxes ? frame[down, across] : frame[across, down]
      }
    }
    return turned
  }
}

/// Red, green and blue, a byte each, row by row.
struct PosterPixels: Equatable, Sendable {
  struct Colour: Equatable, Sendable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
  }

  let width: Int
  let height: Int
  private(set) var bytes: [UInt8]

  /// Black.
  init(width: Int, height: Int) {
    self.init(width: width, height: height, bytes: [UInt8](repeating: 0, count: width * height * 3))
  }

  init(width: Int, height: Int, bytes: [UInt8]) {
    precondition(bytes.count == width * height * 3, "a wrong number of bytes")
    self.width = width
    self.height = height
    self.bytes = bytes
  }

  subscript(x: Int, y: Int) -> Colour {
    get {
      let start = (y * width + x) * 3
      return Colour(red: bytes[start], green: bytes[start + 1], blue: bytes[start + 2])
    }
    set {
      let start = (y * width + x) * 3
      bytes[start] = newValue.red
      bytes[start + 1] = newValue.green
      bytes[start + 2] = newValue.blue
    }
  }

  /// True if all pixels are equal.
  var isOneColour: Bool {
    for index in bytes.indices.dropFirst(3) where bytes[index] != bytes[index - 3] { return false }
    return true
  }
}
