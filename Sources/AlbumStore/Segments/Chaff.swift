internal import AlbumFormat
internal import AlbumModel
internal import AlbumSecrets
internal import Posix

/// Segments of random bytes that no space owns, so that unexplained segments prove nothing. albumfs keeps no
/// count of them, and nothing distinguishes them from others.
package enum Chaff {
  /// The size of one write, in bytes.
  private static let pieceByteCount = 1 << 20

  /// Adds at least `bytes` of chaff in whole segments; needs no password. If it throws, the finished
  /// segments stay as chaff. Thread-safe. Passes the bytes made so far to `progress`.
  package static func add(
    bytes: Int64, to store: Store, progress: (Int64) throws(StoreError) -> Void = { _ in }
  ) throws(StoreError) {
    defer { RestingTimes.settle(store.directory) }
    let size = Int64(store.configuration.segmentSize)
    var made: Int64 = 0
    while made < bytes {
      try addSegment(to: store)
      made += size
      try progress(made)
    }
  }

  /// Creates all folders of segments, durably. A folder that appeared with its first segment would reveal
  /// that segment.
  static func makeFolders(_ directory: any StorageDirectory) throws(StoreError) {
    try makeFolder(SegmentPath.root, in: "", directory)
    for folder in SegmentPath.folders {
      do throws(Errno) { try directory.makeDirectory(folder) } catch {
        throw StoreError("make", folder, error)
      }
    }
    do throws(Errno) { try directory.syncDirectory(SegmentPath.root) } catch {
      throw StoreError(syncing: SegmentPath.root, error)
    }
  }

  static func addSegment(to store: Store) throws(StoreError) {
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
      // The next mount would fill up a short file; but the room may be needed now.
      try? store.directory.remove(path)
      throw StoreError(writing: path, error)
    }
    RestingTimes.settle(folder, in: store.directory)
    do throws(Errno) { try store.directory.syncDirectory(folder) } catch {
      throw StoreError(syncing: folder, error)
    }
  }

  /// Writes random bytes from the start, and sets the time of a segment.
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
    try file.setModificationTime(checksum.time)
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
