import AlbumModel
import Posix

/// The records of a zip file (PKWARE's APPNOTE 6.3.9): a head before each file, and a directory of all files
/// at the end. Files are stored as they are, because pictures and films are compressed already. Records of
/// Zip64 hold what exceeds 32 bits.
enum ZipFormat {
  /// One file of the archive.
  struct Entry {
    /// With `/` between the folders.
    let name: [UInt8]
    let modified: Timestamp
    let permissions: UInt32
    /// Where its head begins.
    let offset: Int64
    let size: Int64
    var checksum: UInt32 = 0

    /// True if the head has the sizes in 64 bits.
    var isLarge: Bool { size >= ZipFormat.limit }
  }

  /// From here on a number is in a Zip64 record, and all bits of its field are set.
  static let limit: Int64 = 0xFFFF_FFFF

  /// The head before the content. Its length does not depend on the checksum, which is known afterwards.
  static func head(of entry: Entry) -> [UInt8] {
    let sizes = entry.isLarge ? number(entry.size, 8) + number(entry.size, 8) : []
    let extra = large(sizes) + time(of: entry)
    return number(0x0403_4b50, 4) + common(entry, extra.count) + entry.name + extra
  }

  /// The entry in the directory at the end.
  static func directoryEntry(of entry: Entry) -> [UInt8] {
    let isFar = entry.offset >= limit
    let sizes = entry.isLarge ? number(entry.size, 8) + number(entry.size, 8) : []
    let extra = large(sizes + (isFar ? number(entry.offset, 8) : [])) + time(of: entry)
    // Made on Unix, by version 4.5.
    let start = fields((0x0201_4b50, 4), (3 << 8 | 45, 2)) + common(entry, extra.count)
    // No comment, disk 0, no internal attributes; a regular file and its permissions.
    let mode = Int64(0o100000 | entry.permissions & 0o777)
    let place = fields((0, 2), (0, 2), (0, 2), (mode << 16, 4), (min(entry.offset, limit), 4))
    return start + place + entry.name + extra
  }

  /// The end of the archive, behind the directory.
  static func end(count: Int, directory: Range<Int64>) -> [UInt8] {
    let (start, length) = (directory.lowerBound, directory.upperBound - directory.lowerBound)
    let (all, shown) = (Int64(count), Int64(min(count, 0xFFFF)))
    var large: [UInt8] = []
    if shown == 0xFFFF || start >= limit || length >= limit {
      large = fields(
        (0x0606_4b50, 4), (44, 8), (3 << 8 | 45, 2), (45, 2), (0, 4), (0, 4), (all, 8), (all, 8),
        (length, 8), (start, 8))
      // Where that record lies.
      large += fields((0x0706_4b50, 4), (0, 4), (directory.upperBound, 8), (1, 4))
    }
    return large
      + fields(
        (0x0605_4b50, 4), (0, 2), (0, 2), (shown, 2), (shown, 2), (min(length, limit), 4),
        (min(start, limit), 4), (0, 2))
  }

  /// What the head and the entry in the directory have in common: version needed, stored, and whether the
  /// name is UTF-8. Other names stay as they are.
  private static func common(_ entry: Entry, _ extra: Int) -> [UInt8] {
    let (date, time) = dosTime(entry.modified)
    let isText = String(validating: entry.name, as: UTF8.self) != nil
    let size = entry.isLarge ? limit : entry.size
    return fields(
      (45, 2), (isText ? 1 << 11 : 0, 2), (0, 2), (time, 2), (date, 2), (Int64(entry.checksum), 4),
      (size, 4),
      (size, 4), (Int64(entry.name.count), 2), (Int64(extra), 2))
  }

  /// The Zip64 record of an entry with these numbers.
  private static func large(_ numbers: [UInt8]) -> [UInt8] {
    numbers.isEmpty ? [] : fields((0x0001, 2), (Int64(numbers.count), 2)) + numbers
  }

  /// The modification time in seconds since 1970, where 32 bits hold it.
  private static func time(of entry: Entry) -> [UInt8] {
    guard let seconds = Int32(exactly: entry.modified.seconds) else { return [] }
    return fields((0x5455, 2), (5, 2), (1, 1), (Int64(seconds), 4))
  }

  /// Local time in steps of two seconds, from 1980 to 2107.
  private static func dosTime(_ time: Timestamp) -> (date: Int64, time: Int64) {
    // 2024-07-03 12:34:56
    let numbers = SystemClock.localTime(seconds: time.seconds)
      .split { !$0.isNumber }.compactMap { Int64($0) }
    guard numbers.count == 6, 1980...2107 ~= numbers[0] else { return (1 << 5 | 1, 0) }
    let date = (numbers[0] - 1980) << 9 | numbers[1] << 5 | numbers[2]
    return (date, numbers[3] << 11 | numbers[4] << 5 | numbers[5] / 2)
  }
}

/// A little-endian number of a record.
private func number(_ value: Int64, _ size: Int) -> [UInt8] {
  (0..<size).map { UInt8(truncatingIfNeeded: value >> Int64(8 * $0)) }
}

/// Numbers of a record, each with its size.
private func fields(_ numbers: (value: Int64, size: Int)...) -> [UInt8] {
  numbers.flatMap { number($0.value, $0.size) }
}
