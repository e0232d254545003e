/// The kind of a picture, detected from its content. Names do not matter.
///
/// Both sides use it: the daemon never streams a film to the cell, and the cell never lets libvips choose a
/// loader by itself.
package enum ImageKind: UInt8, CaseIterable, Sendable {
  case jpeg = 1
  case png = 2
  case webp = 3
  case gif = 4
  case tiff = 5
  case heif = 6
  case avif = 7
  case jpegXL = 8
  case jpeg2000 = 9
  /// A camera's raw picture that says so at its start: CR2, CR3, RAF, ORF, RW2. All others begin as any TIFF
  /// does.
  case raw = 10

  /// The number of bytes from the start that suffice to detect the kind (or all, if there are fewer).
  package static let sniffByteCount = 512

  /// Detects the kind of a picture that starts with these bytes; nil for anything else.
  package init?(sniffing bytes: [UInt8]) {
    if bytes.starts(with: [0xff, 0xd8, 0xff]) {
      self = .jpeg
    } else if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) {
      self = .png
    } else if bytes.has("RIFF", at: 0), bytes.has("WEBP", at: 8) {
      self = .webp
    } else if bytes.has("GIF87a", at: 0) || bytes.has("GIF89a", at: 0) {
      self = .gif
    } else if ImageKind.isRaw(bytes) {
      self = .raw
    } else if ImageKind.isTIFF(bytes) {
      self = .tiff
    } else if ImageKind.isJPEGXL(bytes) {
      self = .jpegXL
    } else if ImageKind.isJPEG2000(bytes) {
      self = .jpeg2000
    } else if let kind = ImageKind.inISOBaseMedia(bytes) {
      self = kind
    } else {
      return nil
    }
  }

  /// True for the formats of thumbnails.
  var isThumbnailFormat: Bool {
    switch self {
    case .jpeg, .png, .webp: true
    case .gif, .tiff, .heif, .avif, .jpegXL, .jpeg2000, .raw: false
    }
  }

  /// Classic and BigTIFF, in both byte orders.
  private static func isTIFF(_ bytes: [UInt8]) -> Bool {
    let order = bytes.prefix(4)
    return order.elementsEqual([0x49, 0x49, 0x2a, 0x00])
      || order.elementsEqual([0x4d, 0x4d, 0x00, 0x2a])
      || order.elementsEqual([0x49, 0x49, 0x2b, 0x00])
      || order.elementsEqual([0x4d, 0x4d, 0x00, 0x2b])
  }

  /// A bare codestream, or one in a container of boxes.
  private static func isJPEGXL(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: [0xff, 0x0a])
      || bytes.starts(with: [0, 0, 0, 0x0c, 0x4a, 0x58, 0x4c, 0x20, 0x0d, 0x0a, 0x87, 0x0a])
  }

  /// A box of JP2, or a bare codestream.
  private static func isJPEG2000(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: [0, 0, 0, 0x0c, 0x6a, 0x50, 0x20, 0x20, 0x0d, 0x0a, 0x87, 0x0a])
      || bytes.starts(with: [0xff, 0x4f, 0xff, 0x51, 0x00])
  }

  private static func isRaw(_ bytes: [UInt8]) -> Bool {
    let order = bytes.prefix(4)
    // Panasonic; Olympus, in three forms; Canon's two; Fujifilm.
    return order.elementsEqual([0x49, 0x49, 0x55, 0x00]) || order.elementsEqual("IIRO".utf8)
      || order.elementsEqual("IIRS".utf8) || order.elementsEqual("MMOR".utf8)
      || isTIFF(bytes) && bytes.has("CR\u{2}\u{0}", at: 8)
      || bytes.has("ftypcrx ", at: 4) || bytes.has("FUJIFILMCCD-RAW ", at: 0)
  }

  /// HEIF and AVIF share the container of MP4 films; the brand in the first box distinguishes them. A generic
  /// brand only means "pictures", and then the compatible brands name the codec.
  private static func inISOBaseMedia(_ bytes: [UInt8]) -> ImageKind? {
    guard bytes.has("ftyp", at: 4) else { return nil }
    if avifBrands.contains(where: { bytes.has($0, at: 8) }) { return .avif }
    if heifBrands.contains(where: { bytes.has($0, at: 8) }) { return .heif }
    guard genericBrands.contains(where: { bytes.has($0, at: 8) }) else { return nil }
    let boxEnd = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    let end = min(boxEnd, bytes.count, sniffByteCount)
    for offset in stride(from: 16, to: end, by: 4)
    where avifBrands.contains(where: { bytes.has($0, at: offset) }) {
      return .avif
    }
    return .heif
  }

  private static let avifBrands: [StaticString] = ["avif", "avis"]
  private static let heifBrands: [StaticString] = [
    "heic", "heix", "hevc", "heim", "heis", "hevm", "hevs",
  ]
  private static let genericBrands: [StaticString] = ["mif1", "msf1"]
}

extension [UInt8] {
  /// True if these characters are at this offset.
  fileprivate func has(_ text: StaticString, at offset: Int) -> Bool {
    let length = text.utf8CodeUnitCount
    guard count >= length, offset <= count - length else { return false }
    return text.withUTF8Buffer { unsafe self[offset..<offset + length].elementsEqual($0) }
  }
}
