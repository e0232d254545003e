import AlbumModel
import Posix

/// The files of a zip file, from the directory at its end. Trusts nothing in it.
struct ZipDirectory {
  struct Member {
    let folders: [FileName]
    let name: FileName
    let modified: Timestamp
    let isPacked: Bool
    let checksum: UInt32
    /// The place of its bytes in the zip file.
    let content: Range<Int64>
    /// The number of its bytes when unpacked.
    let size: Int64
  }

  /// Why a whole zip file cannot be read.
  struct Fault: Error { let reason: String }

  private(set) var members: [Member] = []
  /// Members that cannot be imported, by their names as people see them.
  private(set) var problems: [(name: String, reason: String)] = []
  /// What the rules of the import leave out: each file, or the topmost folder that holds it.
  private(set) var omitted: [(path: [FileName], omission: Omission)] = []
  private var omittedFolders: Set<[FileName]> = []
  private let rules: OmissionRules

  typealias Read = (_ count: Int, _ offset: Int64) -> [UInt8]?

  private static let mostFolders = 100
  private static let damaged = Fault(reason: "it is damaged, or no zip file")
  /// Bounds the memory for the directory of a hostile file.
  private static let longestDirectory: Int64 = 64 << 20
  /// Pictures hardly shrink. What grows to more than this, and to more than 100 times its size, is made to
  /// fill a disk.
  private static let harmless: Int64 = 100 << 20

  init(
    size: Int64, rules: OmissionRules = OmissionRules(), _ read: Read
  ) throws(Fault) {
    self.rules = rules
    let (place, shift) = try ZipDirectory.place(size, read)
    guard place.upperBound <= size, place.count <= ZipDirectory.longestDirectory,
      let bytes = read(Int(place.count), place.lowerBound), bytes.count == place.count
    else { throw ZipDirectory.damaged }
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let record = ZipRecord(taking: &rest) else { throw ZipDirectory.damaged }
      add(record, shiftedBy: shift, place.lowerBound, read)
    }
    var room = max(ZipDirectory.harmless, size.multipliedReportingOverflow(by: 100).partialValue)
    for member in members where room >= 0 { room -= member.size }
    if room < 0 {
      throw Fault(reason: "it unpacks to more than 100 times its size, as a zip bomb does")
    }
    let places = members.map(\.content).filter { !$0.isEmpty }.sorted {
      $0.lowerBound < $1.lowerBound
    }
    for (former, next) in zip(places, places.dropFirst()) where next.lowerBound < former.upperBound
    {
      throw Fault(reason: "its files share their bytes, as those of a zip bomb do")
    }
  }

  /// True if the directory of a zip file is at the end, whatever the file begins with.
  static func isAtEnd(of size: Int64, _ read: Read) -> Bool {
    guard let (place, _) = try? place(size, read), place.count >= 46 else { return false }
    return read(4, place.lowerBound) == ZipDirectory.recordMark
  }

  private static let recordMark: [UInt8] = [0x50, 0x4B, 1, 2]

  /// Finds the directory by the record at the end, behind which there may be a comment. Also returns how much
  /// lies in front of the zip file that its numbers do not count, such as a program that unpacks it.
  private static func place(
    _ size: Int64, _ read: Read
  ) throws(Fault) -> (directory: Range<Int64>, shift: Int64) {
    let length = min(size, 22 + 0xFFFF)
    guard let tail = read(Int(length), size - length), tail.count == length, length >= 22 else {
      throw damaged
    }
    for start in stride(from: tail.count - 22, through: 0, by: -1)
    where tail[start] == 0x50 && tail[start...].starts(with: [0x50, 0x4B, 5, 6]) {
      let end = tail[start..<start + 22]
      // The comment fills the file.
      if Int(end.zipNumber(20, 2)) != tail.count - start - 22 { continue }
      let position = size - length + Int64(start)
      var (count, from) = (end.zipNumber(12, 4), end.zipNumber(16, 4))
      var behind = position
      if let locator = read(20, position - 20), locator.count == 20,
        locator.starts(with: [0x50, 0x4B, 6, 7]),
        let (large, start) = large(at: [locator[...].zipNumber(8, 8), position - 76], read)
      {
        behind = start
        (count, from) = (large[...].zipNumber(40, 8), large[...].zipNumber(48, 8))
      } else if end.zipNumber(4, 2) != 0 || end.zipNumber(6, 2) != 0 {
        throw Fault(reason: "it is one part of several")
      }
      guard from >= 0, count >= 0, from <= behind, count <= behind - from else { throw damaged }
      let shift = behind - count - from
      let isWhereItSays = count == 0 || read(4, from) == recordMark
      return isWhereItSays || shift == 0
        ? (from..<from + count, 0) : (from + shift..<from + shift + count, shift)
    }
    throw damaged
  }

  /// The record of 64 bits, at the first place that has one.
  private static func large(
    at places: [Int64], _ read: Read
  ) -> (record: [UInt8], place: Int64)? {
    for place in places where place >= 0 {
      if let record = read(56, place), record.count == 56, record.starts(with: [0x50, 0x4B, 6, 6]) {
        return (record, place)
      }
    }
    return nil
  }

  private mutating func add(
    _ record: ZipRecord, shiftedBy shift: Int64, _ limit: Int64, _ read: Read
  ) {
    let shown = PlainPath(bytes: record.name).text
    func refuse(_ reason: String) { problems.append((shown, reason)) }
    let parts = record.name.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let isFolder = record.name.last == UInt8(ascii: "/")
    let names = (isFolder ? parts.dropLast() : parts[...]).compactMap { try? FileName(Array($0)) }
    // Empty, `.`, `..` and too long names are none.
    guard names.count == parts.count - (isFolder ? 1 : 0), let name = names.last, !record.hasDrive
    else { return refuse("its name leads out of the zip file, or is not a valid name") }
    if isFolder { return }
    if names.count > ZipDirectory.mostFolders { return refuse("it is nested in too many folders") }
    switch record.mode & 0o170000 {
    case 0, 0o100000: break
    case 0o120000: return refuse("it is a symbolic link")
    default: return refuse("it is neither file nor folder")
    }
    if let (omission, depth) = rules.firstOmission(of: names) {
      return omit(names, omission, depth)
    }
    if record.isEncrypted { return refuse("it is encrypted") }
    guard record.method == 0 || record.method == 8 else {
      return refuse("it is compressed in a way that albumfs does not know")
    }
    guard let start = record.contentStart(shiftedBy: shift, before: limit, read),
      record.size >= 0,
      record.packedSize >= 0, record.packedSize <= limit - start,
      record.method == 8 || record.size == record.packedSize
    else { return refuse("it is damaged") }
    members.append(
      Member(
        folders: names.dropLast(), name: name, modified: record.modified,
        isPacked: record.method == 8, checksum: record.checksum,
        content: start..<start + record.packedSize, size: record.size))
  }
}

extension ZipDirectory {
  /// Counts hidden files one by one, and names anything else once.
  private mutating func omit(_ path: [FileName], _ omission: Omission, _ depth: Int) {
    let top = Array(path.prefix(depth))
    if omission != .hidden, depth < path.count, !omittedFolders.insert(top).inserted { return }
    omitted.append((omission == .hidden ? path : top, omission))
  }
}

/// One record of the directory.
struct ZipRecord {
  let method: Int64
  let checksum: UInt32
  private(set) var packedSize: Int64
  private(set) var size: Int64
  private(set) var head: Int64
  private(set) var name: [UInt8]
  private(set) var modified: Timestamp
  /// As of Unix; 0 if another system made it.
  let mode: Int64
  let isEncrypted: Bool
  private let nameLength: Int

  /// Takes one record off the begin of a directory; nil if there is none.
  init?(taking rest: inout ArraySlice<UInt8>) {
    guard rest.count >= 46, rest.starts(with: [0x50, 0x4B, 1, 2]) else { return nil }
    let flags = rest.zipNumber(8, 2)
    let isUnix = [3, 19].contains(rest.zipNumber(4, 2) >> 8)
    (method, checksum) = (rest.zipNumber(10, 2), UInt32(rest.zipNumber(16, 4)))
    (packedSize, size, head) = (rest.zipNumber(20, 4), rest.zipNumber(24, 4), rest.zipNumber(42, 4))
    mode = isUnix ? rest.zipNumber(38, 4) >> 16 : 0
    isEncrypted = flags & 1 != 0
    modified = ZipRecord.time(rest.zipNumber(14, 2), rest.zipNumber(12, 2))
    nameLength = Int(rest.zipNumber(28, 2))
    let (extra, comment) = (Int(rest.zipNumber(30, 2)), Int(rest.zipNumber(32, 2)))
    guard rest.count >= 46 + nameLength + extra + comment else { return nil }
    let raw = Array(rest.dropFirst(46).prefix(nameLength))
    // Unix writes names as they are, all others write the code page of the first PC where nothing says UTF-8.
    let isText = flags & 1 << 11 != 0
    name = isText || isUnix ? raw : CodePage437.text(raw)
    let fields = rest.dropFirst(46 + nameLength).prefix(extra)
    rest = rest.dropFirst(46 + nameLength + extra + comment)
    if !readExtra(fields, raw) { return nil }
    // Some programs of Windows write backslashes.
    if !isUnix { name = name.map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 } }
  }

  /// `C:`, which an absolute name of Windows begins with.
  var hasDrive: Bool {
    name.count >= 2 && name[1] == UInt8(ascii: ":") && mode == 0
  }

  /// Returns false where a number of 64 bits is missing.
  private mutating func readExtra(_ all: ArraySlice<UInt8>, _ raw: [UInt8]) -> Bool {
    var rest = all
    // Each kind counts once: a record has room for thousands of names, and a checksum of each takes long.
    var (isLargeKnown, isNameKnown) = (false, false)
    while rest.count >= 4 {
      let (kind, length) = (rest.zipNumber(0, 2), Int(rest.zipNumber(2, 2)))
      var field = rest.dropFirst(4).prefix(length)
      rest = rest.dropFirst(4 + length)
      switch kind {
      case 0x0001 where !isLargeKnown:
        isLargeKnown = true
        for number in [\ZipRecord.size, \.packedSize, \.head] as [WritableKeyPath<ZipRecord, Int64>]
        where self[keyPath: number] == ZipFormat.limit {
          if field.count < 8 { return false }
          self[keyPath: number] = field.zipNumber(0, 8)
          field = field.dropFirst(8)
        }
      case 0x5455 where field.count >= 5 && field.first! & 1 != 0:
        modified = Timestamp(seconds: Int64(Int32(truncatingIfNeeded: field.zipNumber(1, 4))))
      // The name in UTF-8, if it is that of the name in the record.
      case 0x7075 where field.count > 5 && !isNameKnown:
        isNameKnown = true
        var sum = CRC32()
        sum.add(raw[...])
        if Int64(sum.value) == field.zipNumber(1, 4) { name = Array(field.dropFirst(5)) }
      default: break
      }
    }
    return true
  }

  /// Where the bytes begin, behind the head in front of them; nil if there is none before `limit`.
  func contentStart(
    shiftedBy shift: Int64, before limit: Int64, _ read: ZipDirectory.Read
  ) -> Int64? {
    guard head >= 0, head <= limit - 30 - shift else { return nil }
    let head = head + shift
    guard let bytes = read(30, head), bytes.count == 30,
      bytes.starts(with: [0x50, 0x4B, 3, 4])
    else { return nil }
    let start = head + 30 + bytes[...].zipNumber(26, 2) + bytes[...].zipNumber(28, 2)
    return start <= limit ? start : nil
  }

  private static func time(_ date: Int64, _ time: Int64) -> Timestamp {
    let seconds = SystemClock.seconds(
      year: Int(date >> 9) + 1980, month: Int(date >> 5 & 15), day: Int(date & 31),
      hour: Int(time >> 11), minute: Int(time >> 5 & 63), second: Int(time & 31) * 2)
    return Timestamp(seconds: seconds)
  }
}

extension ArraySlice<UInt8> {
  /// A little-endian number in a record. The caller has checked that it is there.
  fileprivate func zipNumber(_ offset: Int, _ size: Int) -> Int64 {
    self[(startIndex + offset)..<(startIndex + offset + size)].reversed()
      .reduce(0) { $0 << 8 | Int64($1) }
  }
}

/// The code page of the first PC, in which zip files without a mark have their names.
private enum CodePage437 {
  private static let upper = Array(
    "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}"
      .unicodeScalars)

  static func text(_ bytes: [UInt8]) -> [UInt8] {
    bytes.flatMap { $0 < 0x80 ? [$0] : Array(String(Character(upper[Int($0) - 0x80])).utf8) }
  }
}
