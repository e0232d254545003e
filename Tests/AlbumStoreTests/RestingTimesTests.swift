import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Glibc
import Logging
import Posix
import Testing

@testable import AlbumStore

// The times of a store, which backups keep, reveal no more than its bytes.

@Suite struct RestingTimesTests {
  private let place: PasswordPlace
  private static let size = SegmentLayout.minimumByteCount

  init() throws {
    place = try PasswordPlace(
      "first", chaff: Int64(3 * RestingTimesTests.size), birth: Space.born)
  }

  @Test func `a new store has all folders, and they have one time`() throws {
    #expect(try Set(place.storage().list("segments")).count == 256)
    #expect(try natural() == [])
  }

  @Test func `adding a space or changing a password leaves no trace in times`() throws {
    try place.open().addSpace(password: secret("second"), birth: Space.born)
    #expect(try natural() == [])
    try place.open().changePassword(old: secret("first"), new: secret("third"))
    #expect(try natural() == [])
    #expect(failure { try place.open().changePassword(old: secret("x"), new: secret("y")) } != nil)
    #expect(try natural() == [])
    try Chaff.add(bytes: 1, to: try place.open())
    #expect(try natural() == [])
  }

  @Test func `a changed keys file has another time, so that rsync copies it`() throws {
    let before = try time("keys")
    try place.open().changePassword(old: secret("first"), new: secret("third"))
    #expect(try time("keys") != before)
  }

  @Test func `a session that ends leaves all at rest, its folders too`() throws {
    let space = try open("first")
    try space.write([UInt8](repeating: 1, count: 3 * RestingTimesTests.size), to: "a")
    try space.close()
    #expect(try natural() == [])
  }

  @Test func `the next session of any space settles what a killed session left`() throws {
    try place.open().addSpace(password: secret("second"), birth: Space.born)
    let space = try open("first")
    try space.write([1, 2, 3], to: "a")
    space.abandon()
    let left = try leaveNaturalTimes()
    #expect(try natural().isSuperset(of: left))
    let bytes = try left.map { try place.read($0) }
    let other = try open("second")
    try other.close()
    #expect(try natural() == [])
    #expect(try left.map { try place.read($0) } == bytes)
  }

  @Test
  func `a segment that another session may be writing is left alone for a quarter of an hour`()
    throws
  {
    try place.open().addSpace(password: secret("second"), birth: Space.born)
    // If it were alone for a second, it would settle them itself.
    let writing = try open("first", background: false)
    try writing.write([1, 2, 3], to: "a")
    let young = try leaveNaturalTimes(secondsAgo: 60)
    try open("second").close()
    #expect(try natural().isSuperset(of: young))
    let old = try leaveNaturalTimes(secondsAgo: 16 * 60)
    try open("second").close()
    #expect(try natural().isDisjoint(with: old))
    // The other session continues as if nothing had happened.
    try writing.write([4], to: "b")
    try writing.close()
    writing.settleTimes()
    #expect(try natural() == [])
    let again = try open("first")
    #expect(try again.content(of: "a") == [1, 2, 3])
    try again.close()
  }

  /// The last written time of the file system belongs to former bytes, which only the bytes show. Such a time
  /// on a second space's segment would prove that it is no chaff.
  @Test func `after a power cut the segments that were changed last get the time of their bytes`()
    throws
  {
    let paths = try segments().shuffled().prefix(2)
    let stale = Int(SegmentChecksum.firstTime.seconds) + 4
    for path in paths {
      let time = timespec(tv_sec: stale, tv_nsec: 0)
      _ = unsafe utimensat(AT_FDCWD, "\(place.directory.path)/\(path)", [time, time], 0)
    }
    let space = try open("first")
    space.settleTimes()
    #expect(try natural() == Set(paths), "these were changed since the machine was started")
    space.settleTimes(TimeSettling(boot: SystemClock.wall() + .seconds(10)))
    #expect(try natural() == [])
    try space.close()
  }

  @Test func `a mount to read changes no time`() throws {
    _ = try leaveNaturalTimes()
    let all = try allPaths()
    // These access times change with any read, unless the reader asks for no change.
    for path in all {
      let times = [timespec(tv_sec: 1_500_000_000, tv_nsec: 5), timespec(tv_sec: 0, tv_nsec: omit)]
      #expect(unsafe utimensat(AT_FDCWD, "\(place.directory.path)/\(path)", times, 0) == 0)
    }
    let before = try all.map { try accessAndModification($0) }
    let space = try open("first", readOnly: true)
    _ = try place.open().countSegments()
    try space.close()
    for (path, times) in zip(all, before) {
      #expect(try accessAndModification(path) == times, "\(path)")
    }
  }

  @Test func `a segment that became short keeps its time until it is filled up`() throws {
    let path = try #require(try segments().first)
    try place.edit(path) { $0.removeLast(512) }
    let before = try time(path)
    try open("first").close()
    #expect(try time(path) == before)
    #expect(try place.read(path).count == RestingTimesTests.size - 512)
  }

  // MARK: Helpers

  private func open(_ password: String, readOnly: Bool = false, background: Bool = true) throws
    -> Space
  {
    let store = try place.open()
    var options = SpaceOpenOptions(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    options.readOnly = readOnly
    options.worksInBackground = background
    return try Space.open(
      store, keys: try store.unlock(password: secret(password)), options: options)
  }

  private func segments() throws -> [String] {
    let storage = try place.storage()
    return try storage.list("segments").flatMap { folder in
      try storage.list("segments/\(folder)").map { "segments/\(folder)/\($0)" }
    }.sorted()
  }

  /// Leaves times as a kill between a write and the setting of its time does: of three segments of any space,
  /// a folder and `keys`.
  private func leaveNaturalTimes(secondsAgo age: Int = 0) throws -> Set<String> {
    let paths = Set(try segments().shuffled().prefix(3) + ["keys", "segments/5e", ""])
    let now = Int(SystemClock.wall().seconds) - age
    for path in paths {
      let time = timespec(tv_sec: now, tv_nsec: 123)
      let code = unsafe utimensat(AT_FDCWD, "\(place.directory.path)/\(path)", [time, time], 0)
      #expect(code == 0)
    }
    return paths.filter { $0.count > 32 }
  }

  /// UTIME_OMIT, which is a macro with a shift.
  private let omit = (1 << 30) - 2

  /// Returns all paths of the store, without changing their times afterwards.
  private func allPaths() throws -> [String] {
    let folders = try place.storage().list("segments").map { "segments/\($0)" }
    return try folders + segments() + ["segments", "", "keys", "albumfs.conf", "albumfs.conf.bak"]
  }

  private func accessAndModification(_ path: String) throws -> [Int] {
    var status = stat()
    try #require(unsafe lstat("\(place.directory.path)/\(path)", &status) == 0)
    return [status.st_atim.tv_sec, status.st_atim.tv_nsec] + (try time(path))
  }

  private func time(_ path: String) throws -> [Int] {
    var status = stat()
    try #require(unsafe lstat("\(place.directory.path)/\(path)", &status) == 0)
    return [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
  }

  /// Returns all paths whose times differ from those that their bytes give.
  private func natural() throws -> Set<String> {
    var found: Set<String> = []
    let folders = try place.storage().list("segments").map { "segments/\($0)" } + ["segments", ""]
    let files = ["keys", "albumfs.conf", "albumfs.conf.bak"]
    for path in folders + files + (try segments()) {
      var expected = SegmentChecksum.firstTime
      if files.contains(path) {
        expected = SegmentChecksum.time(ofSmallFile: try place.read(path))
      } else if !folders.contains(path) {
        expected = unsafe try place.read(path).withUnsafeBytes { unsafe SegmentChecksum($0) }.time
      }
      var status = stat()
      try #require(unsafe lstat("\(place.directory.path)/\(path)", &status) == 0)
      let times = [status.st_mtim, status.st_atim]
      if times.contains(where: { $0.tv_sec != Int(expected.seconds) || $0.tv_nsec != 0 }) {
        found.insert(path)
      }
    }
    return found
  }
}

extension Space {
  @Sendable fileprivate static func born(_ store: Store, _ keys: SpaceKeys) throws(StoreError) {
    try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
  }
}
