import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

// A session that is killed between a write to a segment and the setting of its time leaves the time of the
// write, and folders as they were when it was killed. Every session that may write gives such segments the
// time that they have at rest, whosever they are: in the background once nobody uses the space, and when it
// ends, behind its last barrier. Both are bounded; what is left the next session does. A segment of full
// size tells by its time alone that it needs this, so only such ones are read.
//
// Another session, of another space or on another machine, may be writing to one: its time is natural only
// for the instant between the write and the setting of the time. So a segment that was written to within
// the last quarter of an hour is left alone while another session is there. Where none shows (locks of a
// shared disk may not), its bytes are read again after its time was set.
//
// A power cut may leave a segment whose bytes are newer than its time: the first session after a start of the
// machine reads those that were changed last before it. That they were looked at shows in the time of change
// of the folder `segments`.
//
// One that is short is left to whoever fills it up (`Sweep`), which sets its time as well.

struct TimeSettling {
  /// How many segments one round looks at, and how many bytes of them it reads.
  static let filesPerRound = 1024
  static let bytesPerRound: Int64 = 32 << 20
  /// What a session reads in the background at most: a store all of whose times are lost, since it was copied
  /// without them, is settled by many sessions.
  static let bytesInBackground: Int64 = 1 << 30
  /// What the end of a session may take at most: bytes read, and milliseconds.
  static let bytesInTheEnd: Int64 = 128 << 20
  static let timeInTheEnd = Duration.seconds(2)
  /// So old is what no other session writes to any more, in seconds.
  static let quietTime: Int64 = 15 * 60

  /// How many segments are read that were changed last before a start of the machine, and within how many
  /// seconds: file systems write times out later than bytes, by 30 seconds at most.
  static let mostSuspects = 32
  static let suspectedTime: Int64 = 60

  /// Segments that were not looked at yet, in no order; nil: nobody has listed them.
  private var unexamined: [SegmentName]?
  /// Those whose time may be older than their bytes, and when they were changed.
  private var suspects: [(name: SegmentName, changed: Int64)] = []
  private var looksForSuspects = false
  private var bytesLeft = TimeSettling.bytesInBackground
  /// The session writes no more.
  private var isEnding = false
  /// When the machine was started, in seconds since 1970.
  private let boot: Int64

  init(boot: Int64 = SystemClock.wallSeconds() - SystemClock.runningMilliseconds() / 1000) {
    self.boot = boot
  }

  var isUnfinished: Bool { unexamined.map { !$0.isEmpty } ?? true || !suspects.isEmpty }

  /// Looks at the next segments. What cannot be read or set stays as it is.
  mutating func round(_ files: SegmentFiles, _ lock: SpaceLock?) {
    if !isUnfinished { return }
    if unexamined == nil { begin(files) }
    bytesLeft -= settle(
      files, lock, count: TimeSettling.filesPerRound, bytes: TimeSettling.bytesPerRound)
    if bytesLeft <= 0 {
      unexamined = []
      suspects = []
    }
    if !isUnfinished { RestingTimes.settle(files.directory) }
  }

  private mutating func begin(_ files: SegmentFiles) {
    let directory = files.directory
    let looked = (try? directory.folderTimes(SegmentPath.root))??.changed
    looksForSuspects = looked.map { $0 < boot } ?? false
    suspects = []
    unexamined = ((try? directory.segmentNames()) ?? []).shuffled()
  }

  /// Looks at all segments once more, as far as the bounds let it.
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

  private mutating func suspect(_ name: SegmentName, _ changed: Int64) {
    if !looksForSuspects || changed >= boot { return }
    let newest = max(changed, suspects.first?.changed ?? changed)
    suspects.append((name, changed))
    suspects.removeAll { $0.changed < newest - TimeSettling.suspectedTime }
    // The newest one first; of the others as many as are read.
    suspects.sort { $0.changed > $1.changed }
    if suspects.count > TimeSettling.mostSuspects { suspects.removeLast() }
  }

  /// Gives a segment its time where it has another; returns how many bytes were read.
  private func prove(_ name: SegmentName, _ files: SegmentFiles) throws(Errno) -> Int64 {
    let file = try files.directory.open(SegmentPath.path(of: name), .read)
    let times = try file.times()
    guard let checksum = try TimeSettling.read(file, files) else { return 0 }
    // Not where it was written to meanwhile.
    if checksum.time != times.modified, try file.times() == times {
      try file.setModificationTime(seconds: checksum.time)
    }
    return Int64(files.segmentSize)
  }

  /// Gives one segment its time if it has a natural one; returns how many bytes were read.
  private mutating func settle(
    _ name: SegmentName, _ files: SegmentFiles, _ lock: SpaceLock?
  ) throws(Errno) -> Int64 {
    let path = SegmentPath.path(of: name)
    let file = try files.directory.open(path, .read)
    let times = try file.times()
    if times.isOfSegmentAtRest {
      // A backup that read the segment left an access time, and none on what comes later: one copy would
      // tell what two tell. Only in the end, since it makes the segment look recently changed.
      if isEnding, times.accessed != times.modified {
        try file.setAccessTime(seconds: times.modified)
      }
      suspect(name, times.changed)
      return 0
    }
    // Those of this session have their times; another thread may be writing to one.
    if !isEnding, files.keys.segment(named: name)?.birth == files.session { return 0 }
    guard try file.size() == Int64(files.segmentSize) else { return 0 }
    let isQuiet = times.modified < TimeSettling.now(files) - TimeSettling.quietTime
    if !isQuiet, lock?.isAlone != true { return 0 }
    guard var checksum = try TimeSettling.read(file, files) else { return 0 }
    // Written to meanwhile.
    if try file.times() != times { return Int64(files.segmentSize) }
    try file.setModificationTime(seconds: checksum.time)
    if isQuiet { return Int64(files.segmentSize) }
    for turn in 2..<5 {
      guard let again = try TimeSettling.read(file, files), again != checksum else {
        return Int64(turn * files.segmentSize)
      }
      checksum = again
      try file.setModificationTime(seconds: checksum.time)
    }
    return Int64(4 * files.segmentSize)
  }

  /// nil where it has become short.
  private static func read(_ file: any StorageFile, _ files: SegmentFiles) throws(Errno)
    -> SegmentChecksum?
  {
    let image = files.images.take()
    defer { files.images.give(image) }
    return try image.read(file) == files.segmentSize ? image.checksum : nil
  }

  /// The time by the clock of the file system, which may be another machine's; in seconds.
  private static func now(_ files: SegmentFiles) -> Int64 {
    let directory = files.directory
    RestingTimes.settle("", in: directory)
    let changed = (try? directory.folderTimes(""))??.changed
    return changed ?? SystemClock.wallSeconds()
  }
}

extension FileTimes {
  /// True for a time that may be the checksum of a segment; one that a write leaves is none.
  fileprivate var isOfSegmentAtRest: Bool {
    SegmentChecksum.isPossible(time: modified) && modifiedNanoseconds == 0
  }
}
