/// Reads the colours of a HEIC or AVIF from the first property that states some (ISO 23008-12, 6.5.5;
/// ISO 14496-12, 12.1.5). libvips ignores these numbers.
///
///     box colr  offset  size
///                    0     4  "nclx"; with an ICC profile "prof" or "rICC"
///                    4     2  the primaries, as ITU-T H.273 numbers them
///                    6     2  the transfer, likewise
package enum HEIFColours {
  /// nil if the file does not say, or has a profile first.
  package static func numbers(of picture: Span<UInt8>) -> (primaries: Int, transfer: Int)? {
    numbers(size: Int64(picture.count)) { picture.part($0, at: $1) }
  }

  private static func numbers(
    size: Int64, _ read: CaptureDate.Read
  ) -> (primaries: Int, transfer: Int)? {
    guard let list = HEIFSize.properties(size: size, read),
      let box = BoxedMetadata.boxes(in: list, read).first(where: {
        $0.type.elementsEqual("colr".utf8)
      }),
      let bytes = read(8, box.content.lowerBound), bytes.count == 8,
      bytes[..<4].elementsEqual("nclx".utf8)
    else { return nil }
    let numbers = Numbers(isBigEndian: true)
    return (numbers.value(bytes[4..<6]), numbers.value(bytes[6..<8]))
  }
}
