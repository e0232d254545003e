internal import AlbumFormat
internal import AlbumModel
internal import Posix

// The times of a store at rest, see `SegmentChecksum`. Every change of a store sets them: at once on a
// segment and its folder, and on the rest at its end, so that times show nothing that the bytes do not show.
// Nothing depends on them, so failures are ignored here: the next session tries again.

enum RestingTimes {
  /// The time of every folder.
  static let folder = SegmentChecksum.firstTime

  /// Restores the time of a folder in which a name was created or removed.
  static func settle(_ path: String, in directory: any StorageDirectory) {
    try? directory.setFolderTime(path, folder)
  }

  /// Sets the times of the folders, `keys` and both confs. Writes nothing if they are right.
  static func settle(_ directory: any StorageDirectory) {
    for path in StorePath.small {
      settleSmallFile(path, in: directory)
    }
    for path in SegmentPath.folders + [SegmentPath.root, ""] {
      guard let times = try? directory.folderTimes(path), !isAtRest(times) else { continue }
      settle(path, in: directory)
    }
  }

  private static func isAtRest(_ times: FileTimes) -> Bool {
    times.modified == folder && times.accessed == folder
  }

  private static func settleSmallFile(_ path: String, in directory: any StorageDirectory) {
    do throws(Errno) {
      let file = try directory.open(path, .read)
      let (size, times) = (try file.size(), try file.times())
      if size > Int64(StorePath.smallLimit) { return }
      // Reads through the same descriptor, because another file may replace the path meanwhile.
      guard let bytes = try file.contents(byteCount: Int(size)) else { return }
      let time = SegmentChecksum.time(ofSmallFile: bytes)
      if times.modified == time, times.accessed == time { return }
      try file.setModificationTime(time)
    } catch {
      return
    }
  }
}
