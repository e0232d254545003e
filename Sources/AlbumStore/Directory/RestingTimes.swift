internal import AlbumFormat
internal import Posix

// The times that all has at rest, see `SegmentChecksum`. Whoever changes a store sets them: at once on a
// segment and its folder, and on the rest when it ends, so that times tell nothing that the bytes do not
// tell. Nothing depends on them, so no failure here is told: the next session tries again.

enum RestingTimes {
  /// The time of every folder.
  static let folder = SegmentChecksum.firstTime

  /// A folder in which a name was made or removed gets its time back.
  static func settle(_ path: String, in directory: any StorageDirectory) {
    try? directory.setFolderTime(path, seconds: folder)
  }

  /// Gives the folders, `keys` and both confs their times. Writes nothing where they have them.
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
    times.modified == folder && times.modifiedNanoseconds == 0 && times.accessed == folder
  }

  private static func settleSmallFile(_ path: String, in directory: any StorageDirectory) {
    do throws(Errno) {
      let file = try directory.open(path, .read)
      let (size, times) = (try file.size(), try file.times())
      if size > Int64(StorePath.smallLimit) { return }
      // From the same opening: meanwhile another one may have been renamed over it.
      guard let bytes = try file.contents(byteCount: Int(size)) else { return }
      let time = SegmentChecksum.time(ofSmallFile: bytes)
      if times.modified == time, times.modifiedNanoseconds == 0, times.accessed == time { return }
      try file.setModificationTime(seconds: time)
    } catch {
      return
    }
  }
}
