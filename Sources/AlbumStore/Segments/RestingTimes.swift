internal import AlbumFormat
internal import Posix

// The times of a store at rest, see `SegmentChecksum`. Every change of a store sets them: at once on a
// segment and its folder, and on the rest at its end, so that times show nothing that the bytes do not show.
// Nothing depends on them, so failures are ignored here: the next session tries again.

enum RestingTimes {
  /// The time of every folder.
  static let folder = SegmentChecksum.firstTime

  /// Restores the time of a folder in which a name was created or removed.
  static func settle(_ path: String, in directory: any StorageDirectory) {
    try? directory.setFolderTime(path, seconds: folder)
  }

  /// Sets the times of the folders, `keys` and both confs. Writes nothing if they are right.
  static func settle(_ directory: any StorageDirectory) {
    for path in [KeyRing.path, ConfigurationFiles.main, ConfigurationFiles.twin] {
      settleSmallFile(path, in: directory)
    }
    for path in SegmentPath.folders + [SegmentPath.root, ""] {
      guard let times = try? directory.folderTimes(path), !isAtRest(times) else { continue }
      settle(path, in: directory)
    }
  }

  private static func isAtRest(_ times: FileTimes) -> Bool {
    times.modified == folder && times.modifiedNanoseconds == 0 && times.accessed == folder
  }

  private static func settleSmallFile(_ path: String, in directory: any StorageDirectory) {
    let limit = max(StoreConfiguration.maximumByteCount, KeyRing.limit)
    do throws(Errno) {
      let file = try directory.open(path, .read)
      let (size, times) = (try file.size(), try file.times())
      if size > Int64(limit) { return }
      // Reads through the same descriptor, because another file may replace the path meanwhile.
      let image = SegmentImage(byteCount: Int(size))
      if try image.read(file) != image.byteCount { return }
      let time = SegmentChecksum.time(ofSmallFile: image.content)
      if times.modified == time, times.modifiedNanoseconds == 0, times.accessed == time { return }
      try file.setModificationTime(seconds: time)
    } catch {
      return
    }
  }
}
