import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

// What one look at the file of a segment tells: its seal, whether it exists, all of its bytes.

extension SegmentFiles {
  /// The seal of a segment; nil if it has none or is missing. A seal means that the segment is complete, see
  /// `SegmentSeal`.
  func seal(of id: SegmentID) throws(StoreError) -> SegmentSeal? {
    let name = name(id)
    let cell = SegmentImage(byteCount: SegmentSeal.reservedByteCount)
    do throws(Errno) {
      let file = try directory.open(SegmentPath.path(of: name), .read)
      guard try cell.read(file) == cell.byteCount else { return nil }
    } catch {
      if isAbsent(name, error) || isMisplaced(id, error) { return nil }
      if !toleratesReadErrors { throw unread(name, error) }
      recordUnreadable(SegmentPath.path(of: name), error)
      return nil
    }
    cell.used = cell.byteCount
    return SegmentSeal(in: cell, of: name, keys.cipher)
  }

  /// True if the file of a segment exists.
  func exists(_ id: SegmentID) throws(StoreError) -> Bool { try exists(name(id)) }

  func exists(_ name: SegmentName) throws(StoreError) -> Bool {
    let path = SegmentPath.path(of: name)
    do throws(Errno) { _ = try directory.open(path, .read) } catch {
      if error.isMisplaced { recordMisplaced(path, error) }
      if error.isMisplaced || isAbsent(name, error) { return false }
      throw unread(name, error)
    }
    return true
  }

  /// Opens a file for reading as it is where the store lies, whatever is known of it here. The first read
  /// shows whether it is there.
  func openThere(_ path: String) throws(Errno) -> any StorageFile {
    try directory.openThere(path)
  }

  /// True if the segment exists where the store lies.
  func existsThere(_ name: SegmentName) throws(StoreError) -> Bool {
    if directory.relay == nil, !directory.kind.isSnapshot { return try exists(name) }
    let path = SegmentPath.path(of: name)
    do throws(Errno) { _ = try directory.openThere(path).bytes(at: 0, count: 1) } catch {
      if error == .noEntry { return false }
      throw StoreError(reading: path, error)
    }
    return true
  }

  /// Reads the whole segment into an image of its size; returns false if it is missing.
  func load(_ id: SegmentID, into image: SegmentImage) throws(StoreError) -> Bool {
    let path = path(id)
    image.used = 0
    image.hasReadErrors = false
    do throws(Errno) {
      let file = try directory.open(path, .read)
      do throws(Errno) {
        image.used = try image.read(file)
      } catch {
        if !toleratesReadErrors { throw error }
        image.readAround(file)
        recordUnreadable(path, error)
      }
      return true
    } catch {
      if isAbsent(name(id), error) { return false }
      // Something else lies at the path of the segment: it is damaged, and nothing is left of it.
      if isMisplaced(id, error) { return true }
      if !toleratesReadErrors { throw unread(name(id), error) }
      image.hasReadErrors = true
      recordUnreadable(path, error)
      return true
    }
  }
}
