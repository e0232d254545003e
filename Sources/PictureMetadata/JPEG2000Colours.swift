/// The colours of a JPEG 2000 file (ISO 15444-1, I.5.3.3, and 15444-2, M.11.7.3). libvips does not read them.
///
///     box jp2h  contains boxes, among them:
///     box colr  offset  size
///                    0     1  1: a number of a colour space; 2, 3: an ICC profile
///                    1     2  precedence, approximation
///                    3     4  the number: 12 for the inks cyan, magenta, yellow and black
///                    3        or the profile, with the letters of its space at its offset 16
package enum JPEG2000Colours {
  private static let inks = 12

  /// True if the samples are inks.
  package static func areInks(in picture: Span<UInt8>) -> Bool {
    areInks(size: Int64(picture.count)) { picture.part($0, at: $1) }
  }

  private static func areInks(size: Int64, _ read: CaptureDate.Read) -> Bool {
    for header in BoxedMetadata.boxes(in: 0..<size, read)
    where header.type.elementsEqual("jp2h".utf8) {
      for box in BoxedMetadata.boxes(in: header.content, read)
      where box.type.elementsEqual("colr".utf8) {
        // Where a file has several colour boxes, readers use the first.
        guard let colours = read(23, box.content.lowerBound), colours.count >= 7 else {
          return false
        }
        if colours[0] == 1 { return Numbers(isBigEndian: true).value(colours[3..<7]) == inks }
        return colours.count == 23 && colours[19..<23].elementsEqual("CMYK".utf8)
      }
    }
    return false
  }
}
