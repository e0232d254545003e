package import AlbumModel

/// A point in time of which the space shows its whole tree. Body of item 0x8001 behind number and kind:
///
/// 6 zero bytes | used i64 (`StoreTime`) | wall i64 (`Timestamp`) | label: the rest, may be empty.
package struct HistoryPoint: Equatable, Sendable {
  /// Taken from the counter of inode numbers: every inode that was there has a lower one, and every
  /// inode, version and former name that came later has a greater one.
  package var number: InodeNumber
  /// By the clock that decides how long a point stays.
  package var used: StoreTime
  /// For the user.
  package var wall: Timestamp
  /// The name that the user gave it; nil: albumfs made it.
  package var label: FileName?

  package init(
    number: InodeNumber, used: StoreTime, wall: Timestamp, label: FileName? = nil
  ) {
    self.number = number
    self.used = used
    self.wall = wall
    self.label = label
  }
}

/// What an item about points states.
package enum PointStatement: Equatable, Sendable {
  case there(HistoryPoint)
  case gone(InodeNumber)
  /// No point, former name or former state up to this number is known any more.
  case allGone(upTo: InodeNumber)

  private enum Kind: UInt8 { case gone = 0, there = 1, allGone = 2 }

  func encode(into writer: inout ByteWriter) {
    switch self {
    case .gone(let number): PointStatement.write(number, .gone, into: &writer)
    case .allGone(let number): PointStatement.write(number, .allGone, into: &writer)
    case .there(let point):
      PointStatement.write(point.number, .there, into: &writer)
      writer.write([UInt8](repeating: 0, count: PointStatement.zeroByteCount))
      writer.write(point.used.milliseconds)
      writer.write(point.wall.nanoseconds)
      writer.write(point.label?.bytes ?? [])
    }
  }

  private static let zeroByteCount = 6

  private static func write(_ number: InodeNumber, _ kind: Kind, into writer: inout ByteWriter) {
    writer.write(number.rawValue)
    writer.write(kind.rawValue)
  }

  /// Returns nil for a kind of a newer release.
  static func decode(from reader: inout ByteReader) throws(FormatError) -> PointStatement? {
    let number = try reader.readInode()
    let kind: UInt8 = try reader.read()
    switch Kind(rawValue: kind) {
    case .gone: return .gone(number)
    case .allGone: return .allGone(upTo: number)
    case nil: return nil
    case .there:
      _ = try reader.read(count: zeroByteCount)
      var point = HistoryPoint(
        number: number, used: try reader.readTime(),
        wall: Timestamp(nanoseconds: try reader.read()))
      let bytes = try reader.read(count: reader.remaining)
      if !bytes.isEmpty { point.label = try FileName(ofItem: bytes) }
      return .there(point)
    }
  }
}

/// What a name in a directory led to until it changed. Body of item 0x8003:
///
/// number u64 | present u8 (0: it is forgotten) | directory u64 | child u64 (0: nothing) | name: the rest.
package struct PastName: Equatable, Sendable {
  /// Taken from the counter of inode numbers when the name changed.
  package var number: InodeNumber
  package var directory: InodeNumber
  package var name: FileName
  /// nil: the name led to nothing that a point may show.
  package var child: InodeNumber?

  package init(
    number: InodeNumber, directory: InodeNumber, name: FileName, child: InodeNumber?
  ) {
    self.number = number
    self.directory = directory
    self.name = name
    self.child = child
  }

  func encode(isPresent: Bool, into writer: inout ByteWriter) {
    writer.write(number.rawValue)
    writer.write(UInt8(isPresent ? 1 : 0))
    writer.write(directory.rawValue)
    writer.write(child?.rawValue ?? 0)
    writer.write(name.bytes)
  }

  static func decode(from reader: inout ByteReader) throws(FormatError) -> (PastName, Bool) {
    let number = try reader.readInode()
    let present: UInt8 = try reader.read()
    let directory = try reader.readInode()
    let child = try reader.readOptionalInode()
    let name = try FileName(ofItem: try reader.read(count: reader.remaining))
    return (PastName(number: number, directory: directory, name: name, child: child), present != 0)
  }
}

extension FileName {
  fileprivate init(ofItem bytes: [UInt8]) throws(FormatError) {
    do throws(FileName.Invalid) { self = try FileName(bytes) } catch {
      throw FormatError("item of history with a name that is none: \(error)")
    }
  }
}
