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

extension StorageFile {
  /// Writes at the beginning.
  func writeAll(_ bytes: [UInt8]) throws(Errno) {
    var failure: Errno?
    unsafe bytes.withUnsafeBytes {
      do throws(Errno) { try unsafe write($0, at: 0) } catch { failure = error }
    }
    if let failure { throw failure }
  }
  /// The first bytes; nil where there are fewer.
  func contents(byteCount: Int) throws(Errno) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    var failure: Errno?
    var count = 0
    unsafe bytes.withUnsafeMutableBytes {
      do throws(Errno) { count = try unsafe read(into: $0, at: 0) } catch { failure = error }
    }
    if let failure { throw failure }
    return count == byteCount ? bytes : nil
  }
}
