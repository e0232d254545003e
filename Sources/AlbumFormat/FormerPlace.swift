package import AlbumModel

/// The place that an inode without a name had, while the space keeps the inode for its user:
///
/// reason u8 | 6 zero bytes | ended i64 (`StoreTime`, by the use clock) | removed i64 (`Timestamp`) |
/// directory u64 | name. Of a former version, `directory` is the file, and there is no name.
package struct FormerPlace: Equatable, Sendable {
  /// Why the inode has no name.
  package enum Reason: UInt8, Sendable, BitwiseCopyable {
    /// The user removed the file.
    case deleted = 1
    /// Another file got the name of the file.
    case replaced = 2
    /// A directory that the user removed, in which a kept file was.
    case directory = 3
    /// The inode holds what a file held before it was overwritten.
    case overwritten = 4
    /// The inode holds the state of a file or directory that a point shows. The user does not see it among
    /// the deleted files.
    case changed = 5

    /// True for an inode that has the former state of another one, and no name.
    package var isVersion: Bool { self == .overwritten || self == .changed }
  }

  package var reason: Reason
  /// When it lost its name, by the clock that decides how long it stays.
  package var ended: StoreTime
  /// The same by the wall clock, for the user.
  package var removed: Timestamp
  /// The directory of the name, or the file of the version. Either may have no name itself.
  package var directory: InodeNumber
  /// nil for a former version alone.
  package var name: FileName?

  package init(
    _ reason: Reason, _ name: FileName?, in directory: InodeNumber, ended: StoreTime,
    removed: Timestamp
  ) {
    self.reason = reason
    self.name = name
    self.directory = directory
    self.ended = ended
    self.removed = removed
  }

  func encode(into writer: inout ByteWriter) {
    writer.write(reason.rawValue)
    writer.write([UInt8](repeating: 0, count: FormerPlace.zeroByteCount))
    writer.write(ended.milliseconds)
    writer.write(removed.nanoseconds)
    writer.write(directory.rawValue)
    writer.write(name?.bytes ?? [])
  }

  private static let zeroByteCount = 6

  /// Returns nil for a reason of a newer release, which a reader ignores as it ignores unknown items.
  static func decode(from reader: inout ByteReader) throws(FormatError) -> FormerPlace? {
    let reason: UInt8 = try reader.read()
    _ = try reader.read(count: zeroByteCount)
    let ended = try reader.readTime()
    let removed = Timestamp(nanoseconds: try reader.read())
    let directory = try reader.readInode()
    let bytes = try reader.read(count: reader.remaining)
    guard let reason = Reason(rawValue: reason) else { return nil }
    return FormerPlace(
      reason, try name(bytes, reason), in: directory, ended: ended, removed: removed)
  }

  private static func name(_ bytes: [UInt8], _ reason: Reason) throws(FormatError) -> FileName? {
    if reason.isVersion {
      if bytes.isEmpty { return nil }
      throw FormatError("former version with a name")
    }
    do throws(FileName.Invalid) { return try FileName(bytes) } catch {
      throw FormatError("former place with a name that is none: \(error)")
    }
  }
}
