/// Finds the film inside a motion photo. Phones with Android append it to the picture.
///
/// Google and Samsung state its length in XMP; a HEIC may have it in a box `mpvd`; older phones of Samsung
/// name it in a directory at the end of the file. Never trusts the file: the film must begin as one.
package enum MotionPhoto {
  private static let packetCount = 8
  private static let packetLimit: Int64 = 256 << 10
  private static let entryLimit = 64

  /// The place of the film in the file; nil if there is none.
  package static func film(size: Int64, _ read: CaptureDate.Read) -> Range<Int64>? {
    guard size > 32, let head = read(12, 0), head.count == 12 else { return nil }
    let ends = lengths(head, size: size, read).map { size - $0..<size }
    let places =
      ends + [inBox(head, size: size, read), inTrailer(size: size, read)].compactMap { $0 }
    return places.first { isFilm($0, size: size, read) }
  }

  /// True of a name that Google's camera gives to a motion photo: `PXL_20230501_120000.MP.jpg`,
  /// `MVIMG_20180501_120000.jpg`.
  package static func isNamed(_ name: [UInt8]) -> Bool {
    let marks: [[UInt8]] = [".MP.", ".MP~", "_MP."].map { Array($0.utf8) }
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), name.count - dot <= 5 else {
      return false
    }
    let ending = String(decoding: name[(dot + 1)...], as: UTF8.self).lowercased()
    return ["jpg", "jpeg", "heic"].contains(ending)
      && (name.starts(with: "MVIMG_".utf8) || marks.contains { name.contains($0) })
  }

  private static func isFilm(
    _ place: Range<Int64>, size: Int64, _ read: CaptureDate.Read
  ) -> Bool {
    guard place.lowerBound > 0, place.upperBound <= size, place.count > 16,
      let start = read(8, place.lowerBound), start.count == 8
    else { return false }
    return start[4...].elementsEqual("ftyp".utf8)
  }

  /// How many bytes at the end of the file are the film, as XMP states it.
  private static func lengths(
    _ head: [UInt8], size: Int64, _ read: CaptureDate.Read
  ) -> [Int64] {
    MetadataBlocks.find(head, size: size, read).xmp.prefix(packetCount).flatMap {
      block -> [Int64] in
      let count = min(Int64(block.count), packetLimit)
      guard let packet = read(Int(count), block.lowerBound) else { return [] }
      let names = ["MicroVideoOffset", "Item:Length"]
      let texts = names.flatMap { XMPPacket.values(of: Array($0.utf8), in: packet) }
      return texts.compactMap { Int64(String(decoding: $0, as: UTF8.self)) }
        .filter { 0..<size ~= $0 }
    }
  }

  private static func inBox(
    _ head: [UInt8], size: Int64, _ read: CaptureDate.Read
  ) -> Range<Int64>? {
    guard head[4..<8].elementsEqual("ftyp".utf8) else { return nil }
    return BoxedMetadata.boxes(in: 0..<size, read).first { $0.type.elementsEqual("mpvd".utf8) }?
      .content
  }

  /// Samsung's directory: `SEFH`, version, the number of entries; each with a type, and how far before the
  /// directory its data begins, and their size; at last the directory's own length and `SEFT`. Data begin
  /// with their type and a name.
  private static func inTrailer(size: Int64, _ read: CaptureDate.Read) -> Range<Int64>? {
    let numbers = Numbers(isBigEndian: false)
    guard let end = read(8, size - 8), end.count == 8, end[4...].elementsEqual("SEFT".utf8) else {
      return nil
    }
    let start = size - 8 - Int64(numbers.value(end[..<4]))
    guard start > 0, let head = read(12, start), head.count == 12,
      head[..<4].elementsEqual("SEFH".utf8)
    else { return nil }
    for number in 0..<min(numbers.value(head[8...]), entryLimit) {
      guard let entry = read(12, start + 12 + 12 * Int64(number)), entry.count == 12 else { break }
      if numbers.value(entry[2..<4]) != motionData { continue }
      let data = start - Int64(numbers.value(entry[4..<8]))
      let length = Int64(numbers.value(entry[8..<12]))
      guard data > 0, let name = read(8, data), name.count == 8 else { return nil }
      let film = data + 8 + Int64(numbers.value(name[4...]))
      return film < data + length && data + length <= start ? film..<data + length : nil
    }
    return nil
  }

  /// The type of an entry with the film.
  private static let motionData = 0x0A30
}
