import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

// A session that is killed between writing a segment and setting its time leaves the time of the write, and
// folders with their last natural times. Every writing session restores the resting time of such segments,
// of all spaces: in the background while nobody uses the space, and at its end, after its last barrier. Both
// are limited; the next session does the rest. The time of a full-sized segment alone shows that it needs
// this, so only such segments are read.
//
// Another session, of another space or on another machine, may be writing the segment: its time is natural
// only between the write and the setting of the time. So a segment that was written in the last quarter of
// an hour is left alone while there is another session. If none shows (locks of a shared disk may not), the
// segment is read again after its time was set.
//
// A power cut may leave a segment whose bytes are newer than its time. The first session after a start of
// the machine reads the segments that changed last before it. The change time of the folder `segments`
// records that this was done.
//
// The session that fills up a short segment (`Sweep`) also sets its time.

struct TimeSettling {
  /// The number of segments in one round, and the bytes of them that it reads.
  static let filesPerRound = 1024
  /// The same where each takes some round trips to a server.
  private static let filesPerRoundOfNetwork = 16
  static let bytesPerRound: Int64 = 32 << 20
  /// The limit of reads in the background. If all times of a store are lost, because it was copied without
  /// them, many sessions restore them.
  static let bytesInBackground: Int64 = 1 << 30
  /// The limits at the end of a session: bytes read, and time.
  static let bytesInTheEnd: Int64 = 128 << 20
  static let timeInTheEnd = Duration.seconds(2)
  /// No other session writes to a segment of this age.
  static let quietTime = Duration.seconds(15 * 60)

  /// The number of segments to read that changed last before a start of the machine, and the range of their
  /// change times: file systems write times later than bytes, by at most 30 seconds.
  static let mostSuspects = 32
  static let suspectedTime = Duration.seconds(60)

  /// Segments that were not checked yet, in random order; nil before they are listed.
  private var unexamined: [SegmentName]?
  /// Segments whose time may be older than their bytes, and when they changed.
  private var suspects: [(name: SegmentName, changed: Timestamp)] = []
  private var looksForSuspects = false
  private var bytesLeft = TimeSettling.bytesInBackground
  /// The session writes no more.
  private var isEnding = false
  /// When the machine was started.
  private let boot: Timestamp

  init(boot: Timestamp = SystemClock.wall() - SystemClock.sinceStart()) {
    self.boot = boot
  }

  var isUnfinished: Bool { unexamined.map { !$0.isEmpty } ?? true || !suspects.isEmpty }

  /// Checks the next segments. Ignores errors of single segments.
  mutating func round(_ files: SegmentFiles, _ lock: SpaceLock?) {
    if !isUnfinished { return }
    if unexamined == nil { begin(files) }
    let isLocal = files.directory.kind.isLocal
    let count = isLocal ? TimeSettling.filesPerRound : TimeSettling.filesPerRoundOfNetwork
    bytesLeft -= settle(files, lock, count: count, bytes: TimeSettling.bytesPerRound)
    if bytesLeft <= 0 {
      unexamined = []
      suspects = []
    }
    if !isUnfinished { files.settleFolders() }
  }

  private mutating func begin(_ files: SegmentFiles) {
    let directory = files.directory
    let looked = (try? directory.folderTimes(SegmentPath.root))??.changed
    looksForSuspects = looked.map { $0 < boot } ?? false
    suspects = []
    unexamined = ((try? files.list().names) ?? []).shuffled()
  }

  /// Checks all segments once more, within the limits.
  mutating func finish(_ files: SegmentFiles, _ lock: SpaceLock?) {
    isEnding = true
    begin(files)
    let deadline = MonotonicTime.now + TimeSettling.timeInTheEnd
    var left = TimeSettling.bytesInTheEnd
    while isUnfinished, left > 0, MonotonicTime.now < deadline {
      left -= settle(files, lock, count: 64, bytes: min(left, 4 * Int64(files.segmentSize)))
    }
  }

  private mutating func settle(
    _ files: SegmentFiles, _ lock: SpaceLock?, count: Int, bytes limit: Int64
  ) -> Int64 {
    var read: Int64 = 0
    for _ in 0..<count {
      if read >= limit { break }
      if let name = unexamined?.popLast() {
        read += (try? settle(name, files, lock)) ?? 0
      } else if let suspect = suspects.popLast() {
        read += (try? prove(suspect.name, files)) ?? 0
      } else {
        break
      }
      if looksForSuspects, !isUnfinished {
        looksForSuspects = false
        RestingTimes.settle(SegmentPath.root, in: files.directory)
      }
    }
    return read
  }

  private mutating func suspect(_ name: SegmentName, _ changed: Timestamp) {
    if !looksForSuspects || changed >= boot { return }
    let newest = max(changed, suspects.first?.changed ?? changed)
    suspects.append((name, changed))
    suspects.removeAll { $0.changed < newest - TimeSettling.suspectedTime }
    // The newest first, and no more than will be read.
    suspects.sort { $0.changed > $1.changed }
    if suspects.count > TimeSettling.mostSuspects { suspects.removeLast() }
  }

  /// Sets a segment's time if it is wrong; returns the number of bytes read.
  private func prove(_ name: SegmentName, _ files: SegmentFiles) throws(Errno) -> Int64 {
    let file = try files.directory.open(SegmentPath.path(of: name), .read)
    let times = try file.times()
    guard let checksum = try TimeSettling.read(file, files) else { return 0 }
    // Not if another session wrote to it meanwhile.
    if checksum.time != times.modified, try file.times() == times {
      try file.setModificationTime(checksum.time)
    }
    return Int64(files.segmentSize)
  }

  /// Sets a segment's time if it is natural; returns the number of bytes read.
  private mutating func settle(
    _ name: SegmentName, _ files: SegmentFiles, _ lock: SpaceLock?
  ) throws(Errno) -> Int64 {
    let path = SegmentPath.path(of: name)
    let file = try files.directory.open(path, .read)
    // Its owner's next session does it.
    if file.isForeign { return 0 }
    let times = try file.times()
    if SegmentChecksum.isPossible(times.modified) {
      // A backup that read the segment left an access time, and none on later segments: one copy would then
      // reveal as much as two. Resets it only at the end of a session, because that makes the segment look
      // recently changed.
      if isEnding, times.accessed != times.modified {
        try file.setAccessTime(times.modified)
      }
      suspect(name, times.changed)
      return 0
    }
    // This session's segments have their times, and another thread may be writing to one.
    if !isEnding, files.keys.segment(named: name)?.birth == files.session { return 0 }
    guard try file.size() == Int64(files.segmentSize) else { return 0 }
    let isQuiet = times.modified < TimeSettling.now(files) - TimeSettling.quietTime
    if !isQuiet, lock?.isAlone != true { return 0 }
    guard var checksum = try TimeSettling.read(file, files) else { return 0 }
    // Another session wrote to it meanwhile.
    if try file.times() != times { return Int64(files.segmentSize) }
    try file.setModificationTime(checksum.time)
    if isQuiet { return Int64(files.segmentSize) }
    for turn in 2..<5 {
      guard let again = try TimeSettling.read(file, files), again != checksum else {
        return Int64(turn * files.segmentSize)
      }
      checksum = again
      try file.setModificationTime(checksum.time)
    }
    return Int64(4 * files.segmentSize)
  }

  /// nil if the file has become short.
  private static func read(_ file: any StorageFile, _ files: SegmentFiles) throws(Errno)
    -> SegmentChecksum?
  {
    let image = files.images.take()
    defer { files.images.give(image) }
    return try image.read(file) == files.segmentSize ? image.checksum : nil
  }

  /// The time by the clock of the file system, which may be on another machine.
  private static func now(_ files: SegmentFiles) -> Timestamp {
    let directory = files.directory
    RestingTimes.settle("", in: directory)
    let changed = (try? directory.folderTimes(""))??.changed
    return changed ?? SystemClock.wall()
  }
}

extension SegmentFiles {
  /// Sets the times of what a session may have left with others: the small files, and the folders that did
  /// not have them when they were listed. A session sets those of other folders as it changes them.
  func settleFolders() {
    RestingTimes.settle(directory, unsettledFolders.withLock { $0 })
  }
}
