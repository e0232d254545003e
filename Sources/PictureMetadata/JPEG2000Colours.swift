/// The colour space and the opacity of a JPEG 2000 file (ISO 15444-1, I.5.3; 15444-2, M.11.7). libvips does
/// not read these boxes.
///
///     box jp2h  contains boxes, among them:
///     box colr  offset  size
///                    0     1  1: a number of a colour space; 2, 3: an ICC profile
///                    1     2  precedence, approximation
///                    3     4  the number: 12 for the inks cyan, magenta, yellow and black; 18 for sYCC,
///                             24 for e-sYCC
///                    3        or the profile, with the letters of its space at its offset 16
///     box cdef       0     2  the number of descriptions; of each:
///                    0     2  the channel
///                    2     2  0: colour; 1, 2: opacity
///                    4     2  the colour
///
///     box jp2c  the codestream (A.5.1). It begins with the markers SOC (2 bytes) and SIZ, with
///                   40     2  the number of components; of each:
///                    0     1  its depth
///                    1     2  the distances of its samples, across and down
package struct JPEG2000Colours: Equatable {
  package enum Space {
    /// Cyan, magenta, yellow and black.
    case inks
    /// Brightness and two differences of colours, each as fine as the other.
    case differences
    /// Anything that libvips converts.
    case other
  }

  package private(set) var space = Space.other
  /// True if a channel states how opaque the picture is.
  package private(set) var hasOpacity = false

  package init(of picture: Span<UInt8>) {
    self.init(size: Int64(picture.count)) { picture.part($0, at: $1) }
  }

  private init(size: Int64, _ read: CaptureDate.Read) {
    var isColourKnown = false
    var isSubsampled = false
    for box in BoxedMetadata.boxes(in: 0..<size, read) {
      if box.type.elementsEqual("jp2c".utf8) {
        isSubsampled = JPEG2000Colours.isSubsampled(at: box.content.lowerBound, read)
      }
      guard box.type.elementsEqual("jp2h".utf8) else { continue }
      for inner in BoxedMetadata.boxes(in: box.content, read) {
        // Where a file has several colour boxes, readers use the first.
        if inner.type.elementsEqual("colr".utf8), !isColourKnown {
          isColourKnown = true
          space = JPEG2000Colours.space(at: inner.content.lowerBound, read)
        }
        if inner.type.elementsEqual("cdef".utf8) {
          hasOpacity = JPEG2000Colours.hasOpacity(inner.content, read)
        }
      }
    }
    // libvips converts these itself.
    if space == .differences, isSubsampled { space = .other }
  }

  private static func space(at start: Int64, _ read: CaptureDate.Read) -> Space {
    guard let colours = read(23, start), colours.count >= 7 else { return .other }
    if colours[0] == 1 {
      return switch Numbers(isBigEndian: true).value(colours[3..<7]) {
      case 12: .inks
      case 18, 24: .differences
      default: .other
      }
    }
    return colours.count == 23 && colours[19..<23].elementsEqual("CMYK".utf8) ? .inks : .other
  }

  private static func hasOpacity(_ content: Range<Int64>, _ read: CaptureDate.Read) -> Bool {
    // A file may have 16,384 channels; no picture has so many.
    let size = min(content.upperBound - content.lowerBound, 2 + 64 * 6)
    guard let bytes = read(Int(size), content.lowerBound), bytes.count >= 2 else { return false }
    return stride(from: 2, to: bytes.count - 5, by: 6).contains {
      (1...2).contains(Numbers(isBigEndian: true).value(bytes[($0 + 2)..<($0 + 4)]))
    }
  }

  private static func isSubsampled(at start: Int64, _ read: CaptureDate.Read) -> Bool {
    guard let head = read(51, start), head.count == 51 else { return false }
    let distances = [43, 46, 49].map { (head[$0 - 1], head[$0]) }
    return distances.contains { $0 != distances[0] }
  }
}
