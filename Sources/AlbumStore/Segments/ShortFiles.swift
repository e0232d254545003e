import AlbumFormat
import AlbumModel
import AlbumSecrets
import Logging
import Posix

/// Fills up short files of all spaces, which a power cut left, with random bytes. A short file reveals that
/// a space owns it, because chaff gets its name only when it is complete. It changes no existing byte, and
/// no file that has another name, because such a file does not belong to the store alone.
///
/// Anybody who can write to the store can put thousands of empty files there, so a session's work for them
/// is limited. A power cut leaves a few at most, well within the limits:
///
/// - in bytes: `segmentLimit` segments, and a hundredth of the free room on the disk;
/// - in time: one file in each round of the housekeeping thread, which no barrier and no user waits for, and
///   only while no frame waits for its barrier;
/// - the rest stays short. `albumfs check` reports how many there are.
package struct ShortFiles {
  /// The number of files that one session fills up at most.
  package static let segmentLimit = 16
  /// The share of the disk's room that may be filled up.
  static let shareOfFreeRoom: Int64 = 100
  /// The number of files to check in one round.
  static let filesPerRound = 256
  /// The same where each takes some round trips to a server.
  private static let filesPerRoundOfNetwork = 16
  /// Another albumfs may be writing younger files.
  static let minimumAge = Duration.seconds(600)

  /// Files that were not checked yet; nil until this session has written something, because another albumfs
  /// may be writing the file until then.
  private var unexamined: [SegmentName]?
  private var filled = 0
  /// Bytes that this session may still write.
  private var allowance: Int64 = 0

  /// False before the first round.
  var isBegun: Bool { unexamined != nil }

  /// True while unchecked files remain.
  var hasUnexamined: Bool { unexamined.map { !$0.isEmpty } ?? false }

  /// Checks the next files. Fills up at most one of them, and none while `isBusy` returns true.
  mutating func round(
    _ files: SegmentFiles, _ room: DiskRoom, _ logger: Logger, isBusy: () -> Bool
  ) throws(StoreError) {
    if unexamined == nil {
      // The order must not reveal anything.
      unexamined = try files.list().names.shuffled()
      allowance = try room.capacity().availableBytes / ShortFiles.shareOfFreeRoom
    }
    let isLocal = files.directory.kind.isLocal
    for _ in 0..<(isLocal ? ShortFiles.filesPerRound : ShortFiles.filesPerRoundOfNetwork) {
      guard let name = unexamined?.popLast() else { return }
      let path = SegmentPath.path(of: name)
      do throws(Errno) {
        guard let size = try shortSize(path, files) else { continue }
        let missing = files.segmentSize - size
        if filled == ShortFiles.segmentLimit || Int64(missing) > allowance {
          return giveUp(logger)
        }
        if isBusy() {
          unexamined?.append(name)
          return
        }
        filled += 1
        allowance -= Int64(missing)
        try fill(path, from: size, files)
        return
      } catch {
        // A file that vanished meanwhile was not needed any more. A check reports objects of the wrong type.
        if error == .noEntry || error.isMisplaced { continue }
        logger.warning("\(StoreError(writing: path, error))")
        return
      }
    }
  }

  private mutating func giveUp(_ logger: Logger) {
    unexamined = []
    logger.notice(
      "the store holds more short files than a power cut leaves; the rest stays as it is")
  }

  /// The current size of a file that should be filled up; nil for others.
  private func shortSize(_ path: String, _ files: SegmentFiles) throws(Errno) -> Int? {
    let file = try files.directory.open(path, .read)
    let size = Int(try file.size())
    if size >= files.segmentSize { return nil }
    // The file system may report what it likes; bytes that are there are not filled up.
    if try !file.bytes(at: Int64(size), count: 1).isEmpty { return nil }
    // Its other name may be in a backup that shares files with the store, or anywhere else.
    if try file.hasOtherNames() { return nil }
    let modified = try file.modificationTime()
    return modified > SystemClock.wall() - ShortFiles.minimumAge ? nil : size
  }

  private func fill(_ path: String, from size: Int, _ files: SegmentFiles) throws(Errno) {
    let image = SegmentImage(byteCount: files.segmentSize)
    let tail = unsafe UnsafeMutableRawBufferPointer(rebasing: image.bytes[size...])
    unsafe RandomFill.fill(tail)
    let file = try files.directory.open(path, .readWrite)
    try unsafe file.write(UnsafeRawBufferPointer(tail), at: Int64(size))
    image.used = try unsafe file.read(into: image.bytes, at: 0)
    if image.used < files.segmentSize { return }
    let checksum = unsafe SegmentChecksum(UnsafeRawBufferPointer(image.bytes))
    try file.setModificationTime(checksum.time)
  }
}
