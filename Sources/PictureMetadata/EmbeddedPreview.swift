/// The JPEG for display that a camera puts into a raw file: Canon's CR2 and CR3, Nikon's NEF, Sony's ARW,
/// Adobe's DNG, Fujifilm's RAF, Olympus' ORF, Panasonic's RW2, Pentax' PEF.
///
/// Each maker hides it in another place, often behind tables of its own. So the search examines the whole
/// file for places where a JPEG may begin. It leaves out those that the directories of a TIFF name as parts
/// of the raw picture.
package struct EmbeddedPreview: Equatable, Sendable {
  /// Where the JPEG begins, in bytes. It ends before the file does; its own marker says where.
  package let start: Int
  /// As the JPEG stores it, in pixels.
  package let width: Int
  package let height: Int

  package var pixels: Int { width * height }

  /// The largest one; nil if there is none.
  package static func largest(in file: Span<UInt8>) -> EmbeddedPreview? { all(in: file).first }

  /// Of more, the smallest are left out.
  private static let limit = 8

  /// The largest ones, the largest first. Reads the file once, and at most 100,000 segments of JPEG data.
  package static func all(in file: Span<UInt8>) -> [EmbeddedPreview] {
    let rawParts = RawHead.rawParts(of: file)
    var best: [EmbeddedPreview] = []
    var segments = 100_000
    var offset = 0
    while offset + 4 <= file.count, segments > 0 {
      guard
        file[offset] == 0xFF && file[offset + 1] == 0xD8 && file[offset + 2] == 0xFF
      else {
        offset += 1
        continue
      }
      if let found = preview(at: offset, in: file, &segments),
        found.pixels > 0, !rawParts.contains(offset)
      {
        let place = best.firstIndex { $0.pixels < found.pixels } ?? best.count
        best.insert(found, at: place)
        if best.count > limit { best.removeLast() }
      }
      offset += 3
    }
    return best
  }

  /// A JPEG that can be decoded by itself: it has tables, and a frame of 8 bits that is not lossless, because
  /// lossless ones hold the raw picture.
  private static func preview(
    at start: Int, in file: Span<UInt8>, _ segments: inout Int
  ) -> EmbeddedPreview? {
    var offset = start + 2
    var hasTables = false
    while segments > 0, offset + 4 <= file.count, file[offset] == 0xFF {
      segments -= 1
      let marker = file[offset + 1]
      if marker == 0xFF {
        offset += 1
        continue
      }
      let length = Int(file[offset + 2]) << 8 | Int(file[offset + 3])
      // Annex B of ITU T.81: DQT, the frames, and the markers that end the tables.
      switch marker {
      case 0xDB: hasTables = true
      case 0xC0, 0xC1, 0xC2:
        guard hasTables, length >= 11, offset + 10 <= file.count, file[offset + 4] == 8,
          [1, 3].contains(file[offset + 9])
        else { return nil }
        let height = Int(file[offset + 5]) << 8 | Int(file[offset + 6])
        let width = Int(file[offset + 7]) << 8 | Int(file[offset + 8])
        return EmbeddedPreview(start: start, width: width, height: height)
      case 0xC4, 0xDD, 0xE0...0xEF, 0xFE: break
      default: return nil
      }
      if length < 2 { return nil }
      offset += 2 + length
    }
    return nil
  }
}

/// The information about pictures in the head of a raw file.
package enum RawHead {
  /// True for a TIFF that a camera or a converter to DNG wrote: its first picture may be a stamp of 160 by
  /// 120 pixels.
  package static func isOfCamera(_ file: Span<UInt8>) -> Bool {
    ExifBlock.namesCamera(in: 0..<Int64(file.count)) { file.part($0, at: $1) }
  }

  fileprivate static func rawParts(of file: Span<UInt8>) -> Set<Int> {
    ExifBlock.rawParts(in: 0..<Int64(file.count)) { file.part($0, at: $1) }
  }

  /// The orientation of the raw picture, 1 to 8; nil if the file does not say. Previews may repeat it or
  /// not.
  package static func orientation(of file: Span<UInt8>) -> Int? {
    let whole = 0..<Int64(file.count)
    let orientation = ExifBlock.orientation(in: whole) { file.part($0, at: $1) }
    if let orientation { return orientation }
    guard let block = canonBlock(in: file) else { return nil }
    return ExifBlock.orientation(in: block) { file.part($0, at: $1) }
  }

  /// CR3: the box CMT1 holds EXIF data. It lies near the start.
  private static func canonBlock(in file: Span<UInt8>) -> Range<Int64>? {
    let end = min(file.count, 1 << 20) - 4
    guard end > 4, has("ftyp", at: 4, file) else { return nil }
    for offset in 4..<end where has("CMT1", at: offset, file) {
      let length = (offset - 4..<offset).reduce(0) { $0 << 8 | Int(file[$1]) }
      guard length > 8, length <= file.count - offset + 4 else { return nil }
      return Int64(offset + 4)..<Int64(offset - 4 + length)
    }
    return nil
  }

  private static func has(_ name: String, at offset: Int, _ file: Span<UInt8>) -> Bool {
    var offset = offset
    for byte in name.utf8 {
      if offset >= file.count || file[offset] != byte { return false }
      offset += 1
    }
    return true
  }
}
