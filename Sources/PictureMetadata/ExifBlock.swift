/// Reads EXIF data, which has the form of a TIFF (EXIF 2.32, section 4.6): a head, and
/// directories of entries of 12 bytes. Offsets count from the head.
enum ExifBlock {
  private static let entryLimit = 1000

  /// `block` is the part of the file that holds the EXIF data.
  static func date(in block: Range<Int64>, _ read: CaptureDate.Read) -> CaptureDate? {
    // 0x8769: where the directory of EXIF's own entries lies.
    guard let (main, numbers) = mainEntries(block, read),
      let pointer = main.first(where: { numbers.value($0[0..<2]) == 0x8769 }),
      let exif = entries(at: Int64(numbers.value(pointer[8..<12])), block, numbers, read)
    else { return nil }
    // DateTimeOriginal, else DateTimeDigitized.
    for tag in [0x9003, 0x9004] {
      guard let entry = exif.first(where: { numbers.value($0[0..<2]) == tag }),
        numbers.value(entry[2..<4]) == 2, numbers.value(entry[4..<8]) >= 19,
        let text = bytes(19, at: Int64(numbers.value(entry[8..<12])), block, read)
      else { continue }
      if let date = CaptureDate(exif: text) { return date }
    }
    return nil
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

/// The segments before the pixels of a JPEG (ITU T.81, annex B).
enum JPEGSegments {
  private static let limit = 200

  /// The part of the file with EXIF data: a segment APP1 that begins with `Exif` and two zeros.
  static func exif(size: Int64, _ read: CaptureDate.Read) -> Range<Int64>? {
    var offset: Int64 = 2
    for _ in 0..<limit {
      guard let head = read(10, offset), head.count == 10, head[0] == 0xFF else { return nil }
      // Bytes that fill up.
      if head[1] == 0xFF {
        offset += 1
        continue
      }
      // Start of the pixels, or of another stretch without a length.
      if head[1] == 0xDA || head[1] == 0xD9 || 0xD0...0xD8 ~= head[1] { return nil }
      let length = Int64(head[2]) << 8 | Int64(head[3])
      if length < 2 { return nil }
      let end = offset + 2 + length
      if end > size { return nil }
      if head[1] == 0xE1, length > 8, head[4...].elementsEqual("Exif\0\0".utf8) {
        return offset + 10..<end
      }
      offset = end
    }
    return nil
  }
}
