internal import AlbumFormat
internal import AlbumModel
internal import AlbumSecrets
internal import Posix

/// Segments of random bytes that no space owns: what unexplained segments may always be said to be.
/// No count of them is kept, and nothing tells them from others.
package enum Chaff {
  /// How many segments a store is born with, on average.
  static let meanAtBirth = 6
  /// Written at a time, in bytes.
  private static let pieceByteCount = 1 << 20

  /// What a store is born with where nobody says: the more of it, the rarer.
  static func randomByteCount(segmentSize: Int) -> Int64 {
    Int64(Geometric.random(mean: meanAtBirth)) * Int64(segmentSize)
  }

  /// Adds at least `bytes` of chaff in whole segments; needs no password. When it throws, what was
  /// finished stays and is chaff like any other. Thread-safe.
  package static func add(bytes: Int64, to store: Store) throws(StoreError) {
    let size = Int64(store.configuration.segmentSize)
    var left = bytes
    while left > 0 {
      try addSegment(to: store)
      left -= size
    }
  }

  /// Makes the folder of all segments, and its name durable.
  static func makeRoot(_ directory: any StorageDirectory) throws(StoreError) {
    try makeFolder(SegmentPath.root, in: "", directory)
  }

  private static func addSegment(to store: Store) throws(StoreError) {
    let name = SegmentName(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    let (folder, path) = (SegmentPath.directory(of: name), SegmentPath.path(of: name))
    try makeFolder(folder, in: SegmentPath.root, store.directory)
    let file: any StorageFile
    do throws(Errno) { file = try store.directory.open(path, .createNew) } catch {
      throw StoreError("make", path, error)
    }
    do throws(Errno) {
      try fill(file, store.configuration.segmentSize)
      try file.sync()
    } catch {
      // A short one would be filled up by the next mount; but the room may be needed now.
      try? store.directory.remove(path)
      throw StoreError(writing: path, error)
    }
    do throws(Errno) { try store.directory.syncDirectory(folder) } catch {
      throw StoreError(syncing: folder, error)
    }
  }

  /// Writes random bytes from the beginning, and sets the time that all segments have.
  static func fill(_ file: any StorageFile, _ byteCount: Int) throws(Errno) {
    let piece = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(byteCount, pieceByteCount), alignment: 4096)
    defer { unsafe piece.deallocate() }
    var offset = 0
    var checksum = SegmentChecksum()
    while offset < byteCount {
      unsafe RandomFill.fill(piece)
      unsafe checksum.add(UnsafeRawBufferPointer(piece))
      try unsafe file.write(UnsafeRawBufferPointer(piece), at: Int64(offset))
      offset += piece.count
    }
    try file.setModificationTime(seconds: checksum.time)
  }

  private static func makeFolder(
    _ folder: String, in parent: String, _ directory: any StorageDirectory
  ) throws(StoreError) {
    do throws(Errno) { try directory.makeDirectory(folder) } catch {
      if error == .exists { return }
      throw StoreError("make", folder, error)
    }
    do throws(Errno) { try directory.syncDirectory(parent) } catch {
      throw StoreError(syncing: parent, error)
    }
  }
}
