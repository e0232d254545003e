import AlbumModel

/// Reads EXIF data, which has the form of a TIFF (EXIF 2.32, section 4.6): a head, and
/// directories of entries of 12 bytes. Offsets count from the head.
enum ExifBlock {
  private static let entryLimit = 1000
  /// More tiles than a raw picture of 100 megapixels has.
  private static let partLimit = 20_000

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

  /// Passes the entries of a block to `body`; not if it does not begin as EXIF data does.
  static func values(
    in block: Range<Int64>, _ read: CaptureDate.Read, _ body: (Values) -> Void
  ) {
    guard let (main, numbers) = mainEntries(block, read) else { return }
    let pointer = main.first { numbers.value($0[0..<2]) == 0x8769 }
    let exif = pointer.flatMap {
      entries(at: Int64(numbers.value($0[8..<12])), block, numbers, read)
    }
    withoutActuallyEscaping(read) { read in
      body(
        Values(entries: main + (exif ?? []), numbers: numbers) { count, offset in
          bytes(count, at: offset, block, read)
        })
    }
  }

  /// Where the picture was taken (EXIF 2.32, section 4.6.6); nil without a place, and for 0, 0, which cameras
  /// write that do not know theirs.
  static func place(in block: Range<Int64>, _ read: CaptureDate.Read) -> GeographicPlace? {
    guard let (main, numbers) = mainEntries(block, read),
      let pointer = main.first(where: { numbers.value($0[0..<2]) == 0x8825 }),
      let table = entries(at: Int64(numbers.value(pointer[8..<12])), block, numbers, read)
    else { return nil }
    /// Degrees, minutes and seconds, and the letter of the entry before.
    func degrees(_ tag: Int, below zero: String) -> Double? {
      guard let entry = table.first(where: { numbers.value($0[0..<2]) == tag }),
        numbers.value(entry[2..<4]) == 5, numbers.value(entry[4..<8]) == 3,
        let bytes = bytes(24, at: Int64(numbers.value(entry[8..<12])), block, read),
        let letter = table.first(where: { numbers.value($0[0..<2]) == tag - 1 })?[8]
      else { return nil }
      let parts = stride(from: 0, to: 24, by: 8).map { place in
        let below = numbers.value(bytes[place + 4..<place + 8])
        return Double(numbers.value(bytes[place..<place + 4])) / Double(max(below, 1))
      }
      let value = parts[0] + parts[1] / 60 + parts[2] / 3600
      return zero.utf8.first == letter ? -value : value
    }
    guard let latitude = degrees(2, below: "S"), let longitude = degrees(4, below: "W"),
      latitude != 0 || longitude != 0
    else { return nil }
    return GeographicPlace(latitude: latitude, longitude: longitude)
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
  ///
  /// EXIF wants a number of 16 bits. Programs write other whole numbers too, and decoders (libexif, and so
  /// libvips, which makes thumbnails) accept them all.
  static func orientation(in block: Range<Int64>, _ read: CaptureDate.Read) -> Int? {
    guard let (main, numbers) = mainEntries(block, read),
      let entry = main.first(where: { numbers.value($0[0..<2]) == 0x0112 }),
      let size = wholeNumbers[numbers.value(entry[2..<4])]
    else { return nil }
    let count = numbers.value(entry[4..<8])
    // Several numbers need not fit into the entry; the first one counts.
    let value: [UInt8]? =
      count * size <= 4
      ? Array(entry[8..<12])
      : bytes(size, at: Int64(numbers.value(entry[8..<12])), block, read)
    guard count > 0, let orientation = value.map({ numbers.value($0[..<size]) }) else { return nil }
    return 1...8 ~= orientation ? orientation : nil
  }

  /// The kinds of whole numbers, also those with a sign, and their sizes in bytes.
  private static let wholeNumbers = [1: 1, 3: 2, 4: 4, 6: 1, 8: 2, 9: 4]

  /// True if the block names the maker of a camera, or is a DNG.
  static func namesCamera(in block: Range<Int64>, _ read: CaptureDate.Read) -> Bool {
    guard let (main, numbers) = mainEntries(block, read) else { return false }
    return main.contains { [0x010F, 0xC612].contains(numbers.value($0[0..<2])) }
  }

  /// Where the parts of raw pictures begin, and the tiles of any: of all directories, at most 64. Each part
  /// may be a JPEG by itself, and shows a piece of the picture, or colours that are not for display.
  static func rawParts(in block: Range<Int64>, _ read: CaptureDate.Read) -> Set<Int> {
    guard let (head, numbers) = self.head(block, read) else { return [] }
    var starts: Set<Int> = []
    var directories = [head]
    var visited = 0
    while visited < directories.count, visited < 64 {
      let place = directories[visited]
      visited += 1
      guard let table = entries(at: place, block, numbers, read) else { continue }
      /// The numbers of an entry.
      func values(_ tag: Int) -> [Int] {
        guard let entry = table.first(where: { numbers.value($0[0..<2]) == tag }) else { return [] }
        let size = [3: 2, 4: 4, 13: 4][numbers.value(entry[2..<4])] ?? 0
        let count = numbers.value(entry[4..<8])
        guard size > 0, count > 0, count <= partLimit else { return [] }
        let bytes =
          count * size <= 4
          ? Array(entry[8..<8 + count * size])
          : bytes(count * size, at: Int64(numbers.value(entry[8..<12])), block, read) ?? []
        return stride(from: 0, to: bytes.count, by: size).map {
          numbers.value(bytes[$0..<$0 + size])
        }
      }
      // TIFF 6.0 and DNG 1.6: TileOffsets, StripOffsets, PhotometricInterpretation, SubIFDs.
      let tiles = values(0x0144)
      if tiles.count > 1 { starts.formUnion(tiles) }
      if let colours = values(0x0106).first, [32803, 34892].contains(colours) {
        starts.formUnion(tiles + values(0x0111))
      }
      directories += values(0x014A).prefix(16).map { Int64($0) }
      let next = bytes(4, at: place + 2 + 12 * Int64(table.count), block, read)
      if let next, numbers.value(next[...]) > 0 {
        directories.append(Int64(numbers.value(next[...])))
      }
    }
    return starts
  }

  /// The first directory, and the order of bytes; nil if the block does not begin as EXIF data does.
  private static func mainEntries(
    _ block: Range<Int64>, _ read: CaptureDate.Read
  ) -> (entries: [[UInt8]], numbers: Numbers)? {
    guard let (place, numbers) = head(block, read),
      let main = entries(at: place, block, numbers, read)
    else { return nil }
    return (main, numbers)
  }

  /// Where the first directory lies, and the order of bytes.
  private static func head(
    _ block: Range<Int64>, _ read: CaptureDate.Read
  ) -> (directory: Int64, numbers: Numbers)? {
    guard let head = bytes(8, at: 0, block, read) else { return nil }
    let isBig = head.starts(with: "MM".utf8)
    guard isBig || head.starts(with: "II".utf8) else { return nil }
    let numbers = Numbers(isBigEndian: isBig)
    // TIFF, Panasonic's raw, two of Olympus' raw.
    guard [42, 0x55, 0x4F52, 0x5352].contains(numbers.value(head[2..<4])) else { return nil }
    return (Int64(numbers.value(head[4..<8])), numbers)
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
