internal import AlbumFormat
internal import Posix

// The store's small files, written and read whole.

extension StorageDirectory {
  /// Makes a file of these bytes that is on disk when this returns, but for its name: that takes a
  /// `syncDirectory`. What was begun is removed where it fails.
  func writeNew(_ path: String, _ bytes: [UInt8]) throws(StoreError) {
    let file: any StorageFile
    do throws(Errno) { file = try open(path, .createNew) } catch {
      throw StoreError("make", path, error)
    }
    do throws(Errno) {
      try file.writeAll(bytes)
      try file.setModificationTime(seconds: SegmentChecksum.time(ofSmallFile: bytes))
      try file.sync()
    } catch {
      try? remove(path)
      throw StoreError(writing: path, error)
    }
  }

  func syncDirectoryOfStore() throws(StoreError) {
    do throws(Errno) { try syncDirectory("") } catch { throw StoreError(syncing: "", error) }
  }
}
