import AlbumModel

/// Reads EXIF data, which has the form of a TIFF (EXIF 2.32, section 4.6): a head, and
/// directories of entries of 12 bytes. Offsets count from the head.
enum ExifBlock {
  private static let entryLimit = 1000

  /// `block` is the part of the file that holds the EXIF data.
  static func date(in block: Range<Int64>, _ read: CaptureDate.Read) -> CaptureTime? {
    guard let (main, numbers) = mainEntries(block, read) else { return nil }
    // 0x8769: where the directory of EXIF's own entries lies. Canon's CR3 has those in a block of their own.
    let pointer = main.first { numbers.value($0[0..<2]) == 0x8769 }
    let exif =
      pointer.map { entries(at: Int64(numbers.value($0[8..<12])), block, numbers, read) } ?? main
    guard let exif else { return nil }
    // DateTimeOriginal, else DateTimeDigitized, each with the entry of its distance from UTC.
    for (tag, zone) in [(0x9003, 0x9011), (0x9004, 0x9012)] {
      guard let text = text(tag, 19, in: exif, block, numbers, read) else { continue }
      let offset = self.text(zone, 6, in: exif, block, numbers, read)
      if let time = CaptureTime(exif: text, offset: offset) { return time }
    }
    return nil
  }

  /// The packet of XMP in a TIFF.
  static func xmp(in block: Range<Int64>, _ read: CaptureDate.Read) -> Range<Int64>? {
    guard let (main, numbers) = mainEntries(block, read),
      let entry = main.first(where: { numbers.value($0[0..<2]) == 0x02BC }),
      [1, 7].contains(numbers.value(entry[2..<4]))
    else { return nil }
    let start = block.lowerBound + Int64(numbers.value(entry[8..<12]))
    let end = start + Int64(numbers.value(entry[4..<8]))
    return end - start > 4 && end <= block.upperBound ? start..<end : nil
  }

  /// The first `count` characters of an entry; nil if it is no text or has fewer.
  private static func text(
    _ tag: Int, _ count: Int, in entries: [[UInt8]], _ block: Range<Int64>, _ numbers: Numbers,
    _ read: CaptureDate.Read
  ) -> [UInt8]? {
    guard let entry = entries.first(where: { numbers.value($0[0..<2]) == tag }),
      numbers.value(entry[2..<4]) == 2, numbers.value(entry[4..<8]) >= count
    else { return nil }
    return bytes(count, at: Int64(numbers.value(entry[8..<12])), block, read)
  }

  /// Returns the orientation of the main picture, 1 to 8; nil if the block does not contain it.
  static func orientation(in block: Range<Int64>, _ read: CaptureDate.Read) -> Int? {
    guard let (main, numbers) = mainEntries(block, read),
      let entry = main.first(where: { numbers.value($0[0..<2]) == 0x0112 }),
      numbers.value(entry[2..<4]) == 3
    else { return nil }
    let orientation = numbers.value(entry[8..<10])
    return 1...8 ~= orientation ? orientation : nil
  }

  /// True if the block names the maker of a camera, or is a DNG.
  static func namesCamera(in block: Range<Int64>, _ read: CaptureDate.Read) -> Bool {
    guard let (main, numbers) = mainEntries(block, read) else { return false }
    return main.contains { [0x010F, 0xC612].contains(numbers.value($0[0..<2])) }
  }

  /// The first directory, and the order of bytes; nil if the block does not begin as EXIF data does.
  private static func mainEntries(
    _ block: Range<Int64>, _ read: CaptureDate.Read
  ) -> (entries: [[UInt8]], numbers: Numbers)? {
    guard let head = bytes(8, at: 0, block, read) else { return nil }
    let isBig = head.starts(with: "MM".utf8)
    guard isBig || head.starts(with: "II".utf8) else { return nil }
    let numbers = Numbers(isBigEndian: isBig)
    // TIFF, Panasonic's raw, two of Olympus' raw.
    guard [42, 0x55, 0x4F52, 0x5352].contains(numbers.value(head[2..<4])),
      let main = entries(at: Int64(numbers.value(head[4..<8])), block, numbers, read)
    else { return nil }
    return (main, numbers)
  }

  /// The entries of a directory, 12 bytes each; nil if they do not lie in the block.
  private static func entries(
    at offset: Int64, _ block: Range<Int64>, _ numbers: Numbers, _ read: CaptureDate.Read
  ) -> [[UInt8]]? {
    guard let count = bytes(2, at: offset, block, read).map({ numbers.value($0[...]) }),
      count <= entryLimit, let table = bytes(12 * count, at: offset + 2, block, read)
    else { return nil }
    return (0..<count).map { Array(table[12 * $0..<12 * $0 + 12]) }
  }

  /// Bytes at an offset from the head; nil if they do not all lie in the block.
  private static func bytes(
    _ count: Int, at offset: Int64, _ block: Range<Int64>, _ read: CaptureDate.Read
  ) -> [UInt8]? {
    let length = block.upperBound - block.lowerBound
    guard offset >= 0, offset <= length, Int64(count) <= length - offset,
      let bytes = read(count, block.lowerBound + offset), bytes.count == count
    else { return nil }
    return bytes
  }
}

/// Numbers in one byte order.
struct Numbers {
  let isBigEndian: Bool

  /// The value of at most 4 bytes.
  func value(_ bytes: ArraySlice<UInt8>) -> Int {
    isBigEndian
      ? bytes.reduce(0) { $0 << 8 | Int($1) } : bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
