/// Finds the largest picture of an ICO. Numbers are little-endian; reference: Microsoft, "Icons in Win32".
///
///     offset  size
///          0     4  0, 0, 1, 0
///          4     2  number of icons
///          6        entries of 16 bytes:
///          0     2  width and height, a byte each; 0 is 256
///          6     2  bits of a pixel, or 0
///          8     4  length of the picture
///         12     4  its offset
///
/// A picture is a PNG, or a DIB (`Bitmap`) of twice its height: colours, then a mask.
package enum Icon {
  package enum Picture: Sendable {
    case decoded(DecodedPicture)
    /// A PNG in this part of the file.
    case png(Range<Int>)
  }

  package static func decode(_ file: Span<UInt8>, edge: Int) throws(DecodingFault) -> Picture {
    let count = try file.little16(4)
    var best: (size: Int, start: Int, end: Int)?
    for entry in 0..<count {
      let place = 6 + entry * 16
      guard place + 16 <= file.count else { break }
      let width = file[place] == 0 ? 256 : Int(file[place])
      let height = file[place + 1] == 0 ? 256 : Int(file[place + 1])
      let length = try file.little32(place + 8)
      let start = try file.little32(place + 12)
      guard start < file.count, length > 8 else { continue }
      // Of the same edges, the one with more colours.
      let size = width * height * 64 + min(63, try file.little16(place + 6))
      if size > best?.size ?? 0 { best = (size, start, min(file.count, start + length)) }
    }
    guard let best else { throw .damaged }
    if isPNG(file, best.start) {
      return .png(best.start..<best.end)
    }
    let body = try BitmapBody(file, at: best.start, pixels: nil, isIcon: true)
    return .decoded(try body.decode(file, edge: edge))
  }

  private static func isPNG(_ file: Span<UInt8>, _ start: Int) -> Bool {
    start < file.count && file[start] == 0x89 && file.has("PNG\r\n", at: start + 1)
  }
}
