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

  /// Sets the times of these folders of segments, of the two above them, `keys` and both confs. Writes
  /// nothing if they are right.
  static func settle(
    _ directory: any StorageDirectory, _ folders: some Collection<String> = SegmentPath.folders
  ) {
    for path in StorePath.small {
      settleSmallFile(path, in: directory)
    }
    inLanes(directory.lanes, Array(folders) + [SegmentPath.root, ""]) { path in
      guard let times = try? directory.folderTimes(path), !isAtRest(times) else { return }
      settle(path, in: directory)
    }
    touchForeign(directory)
  }

  // Where users share a store, nobody may set the times of another's files, and reading them changes their
  // access times. So these must not depend on what a session did: it changes all of them alike.

  /// Sets the times of all folders of others to now, so that they do not show which of them changed.
  private static func touchForeign(_ directory: any StorageDirectory) {
    if !directory.mayHaveSeveralOwners { return }
    for path in (SegmentPath.folders + [SegmentPath.root, ""]).shuffled() {
      try? directory.touchForeignFolder(path)
    }
  }

  /// Sets the access times of all segments of others. Then reading some of them changes no access time for a
  /// day, where the disk is mounted with `relatime`, as it is by default.
  static func touchAccessTimes(of segments: Set<SegmentName>, in directory: any StorageDirectory) {
    if !directory.mayHaveSeveralOwners { return }
    for name in segments.shuffled() {
      guard let file = try? directory.open(SegmentPath.path(of: name), .read), file.isForeign
      else { continue }
      file.touchAccessTime()
    }
  }

  static func isAtRest(_ times: FileTimes) -> Bool {
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
