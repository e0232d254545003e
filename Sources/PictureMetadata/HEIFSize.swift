import FileKinds

/// The size of a HEIC or AVIF, as its properties state it (ISO 23008-12, section 6.5). Of several pictures in
/// it, such as the tiles of a large one and a small one, the largest counts; all of them are turned alike.
package enum HEIFSize {
  private static let readLimit = 200

  /// Of the upright picture; nil for another kind of file, and for one that does not say.
  package static func upright(
    size: Int64, _ read: CaptureDate.Read
  ) -> (width: Int, height: Int)? {
    var readsLeft = readLimit
    return find(size: size) { (count: Int, offset: Int64) -> [UInt8]? in
      readsLeft -= 1
      return readsLeft < 0 ? nil : read(count, offset)
    }
  }

  private static func find(
    size: Int64, _ read: CaptureDate.Read
  ) -> (width: Int, height: Int)? {
    guard let list = properties(size: size, read) else { return nil }
    var largest = (width: 0, height: 0)
    var isSideways = false
    for box in BoxedMetadata.boxes(in: list, read) {
      switch String(decoding: box.type, as: UTF8.self) {
      case "ispe":
        guard let (width, height) = extent(box.content, read) else { continue }
        if width * height > largest.width * largest.height { largest = (width, height) }
      // Quarter turns.
      case "irot": isSideways = read(1, box.content.lowerBound)?.first.map { $0 & 1 == 1 } ?? false
      default: break
      }
    }
    if largest.width == 0 { return nil }
    return isSideways ? (largest.height, largest.width) : largest
  }

  /// The box with the properties of all pictures; nil for another kind of file.
  static func properties(size: Int64, _ read: CaptureDate.Read) -> Range<Int64>? {
    guard size > 0, let head = read(ImageKind.sniffByteCount, 0),
      let kind = ImageKind(sniffing: head), kind == .heif || kind == .avif,
      let meta = content("meta", in: 0..<size, read), meta.upperBound - meta.lowerBound > 4,
      // Version and flags.
      let properties = content("iprp", in: meta.lowerBound + 4..<meta.upperBound, read)
    else { return nil }
    return content("ipco", in: properties, read)
  }

  private static func content(
    _ type: String, in part: Range<Int64>, _ read: CaptureDate.Read
  ) -> Range<Int64>? {
    BoxedMetadata.boxes(in: part, read).first { $0.type.elementsEqual(type.utf8) }?.content
  }

  /// Version and flags, width, height.
  private static func extent(
    _ box: Range<Int64>, _ read: CaptureDate.Read
  ) -> (width: Int, height: Int)? {
    guard box.upperBound - box.lowerBound >= 12, let bytes = read(12, box.lowerBound),
      bytes.count == 12
    else { return nil }
    let numbers = Numbers(isBigEndian: true)
    let (width, height) = (numbers.value(bytes[4..<8]), numbers.value(bytes[8..<12]))
    return 1...100_000 ~= width && 1...100_000 ~= height ? (width, height) : nil
  }
}
