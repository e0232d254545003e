/// The kind of a picture or video, detected from its content. Names do not matter.
///
/// Everything that asks what a file is asks here: the daemon chooses the cell by it, no cell lets its library
/// choose a decoder by itself, and the gallery, `import` and `export` see the same.
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
  case bmp = 11
  case tga = 12
  case pcx = 13
  case ico = 14
  case psd = 15
  /// A video in boxes: MOV, MP4, M4V, 3GP.
  case mp4 = 16
  case avi = 17
  /// Matroska or WebM.
  case matroska = 18

  /// The kinds of videos. All others are pictures.
  package static let videos: Set<ImageKind> = [.mp4, .avi, .matroska]
  package static let pictures = Set(allCases).subtracting(videos)

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
    } else if bytes.has("RIFF", at: 0), bytes.has("AVI ", at: 8) {
      self = .avi
    } else if bytes.starts(with: [0x1a, 0x45, 0xdf, 0xa3]) {
      self = .matroska
    } else if let kind = ImageKind.byPlainHeader(bytes) {
      self = kind
    } else if let kind = ImageKind.inISOBaseMedia(bytes) {
      self = kind
    } else {
      return nil
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
      || bytes.has("FUJIFILMCCD-RAW ", at: 0)
  }

  /// Kinds of old, whose first bytes many other files could have too: their headers must make sense.
  private static func byPlainHeader(_ bytes: [UInt8]) -> ImageKind? {
    if bytes.has("8BPS\u{0}", at: 0) { return .psd }
    if bytes.isBMP { return .bmp }
    if bytes.isICO { return .ico }
    if bytes.isPCX { return .pcx }
    return bytes.isTGA ? .tga : nil
  }

  /// Pictures and videos share this container, and brands distinguish them. Early QuickTime files have none.
  private static func inISOBaseMedia(_ bytes: [UInt8]) -> ImageKind? {
    if let brands = FileBrands(bytes) { return brands.kind }
    return unbrandedBoxes.contains { bytes.has($0, at: 4) } ? .mp4 : nil
  }

  private static let unbrandedBoxes: [StaticString] = ["moov", "mdat", "wide", "pnot"]
}

extension [UInt8] {
  /// 14 bytes, then one of the headers of Windows or OS/2, which begin with their length.
  fileprivate var isBMP: Bool {
    guard has("BM", at: 0), count >= 26 else { return false }
    let isLengthKnown = [12, 16, 40, 52, 56, 64, 108, 124].contains(self[14])
    return isLengthKnown && self[15] == 0 && self[16] == 0 && self[17] == 0
  }

  /// A directory of 1 to 255 icons, whose first has its reserved byte and at most 1 plane.
  fileprivate var isICO: Bool {
    starts(with: [0, 0, 1, 0]) && count >= 22 && self[4] > 0 && self[5] == 0 && self[9] == 0
      && self[10] <= 1 && self[11] == 0
  }

  fileprivate var isPCX: Bool {
    guard count >= 128, self[0] == 0x0a, [0, 2, 3, 4, 5].contains(self[1]), self[2] == 1 else {
      return false
    }
    let isInOrder = little16(8) >= little16(4) && little16(10) >= little16(6)
    return [1, 2, 4, 8].contains(self[3]) && isInOrder && self[64] == 0
      && (1...4).contains(self[65])
      && self[66...67] != [0, 0]
  }

  /// No signature at its start: type, colour map, depth and descriptor must fit each other.
  fileprivate var isTGA: Bool {
    guard count >= 18, little16(12) > 0, little16(14) > 0, self[17] & 0xc0 == 0 else {
      return false
    }
    let map = self[1]
    let depth = self[16]
    let alpha = self[17] & 0x0f
    switch self[2] {
    case 1, 9:
      return map == 1 && depth == 8 && little16(5) > 0 && little16(5) <= 256
        && [15, 16, 24, 32].contains(self[7]) && alpha == 0
    case 2, 10:
      return map == 0 && self[3..<8].allSatisfy { $0 == 0 }
        && ([15, 16].contains(depth) && alpha <= 1 || depth == 24 && alpha == 0
          || depth == 32 && (alpha == 0 || alpha == 8))
    case 3, 11:
      return map == 0 && self[3..<8].allSatisfy { $0 == 0 } && depth == 8 && alpha == 0
    default: return false
    }
  }

  private func little16(_ offset: Int) -> Int { Int(self[offset]) | Int(self[offset + 1]) << 8 }

  /// True if these characters are at this offset.
  fileprivate func has(_ text: StaticString, at offset: Int) -> Bool {
    let length = text.utf8CodeUnitCount
    guard count >= length, offset <= count - length else { return false }
    return text.withUTF8Buffer { unsafe self[offset..<offset + length].elementsEqual($0) }
  }
}
