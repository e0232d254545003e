import AlbumTestSupport
import ObjectStores
import Posix
import Testing

/// A store behind an object storage reads like one in a directory, with few requests and bounded memory.
@Suite(.timeLimit(.minutes(10))) struct ObjectDirectoryTests {
  private static let mebibyte = 1 << 20
  private static let first = "segments/0a/0a000000000000000000000000000001"
  private static let second = "segments/ff/ff000000000000000000000000000002"

  private static func bytes(_ count: Int, _ seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    let piece = (0..<4099).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    return (0..<count / piece.count + 1).flatMap { _ in piece }.prefix(count) + []
  }

  private static func fill(_ store: MemoryObjectStore) throws {
    try store.save(first, bytes(4 * mebibyte, 1), .any)
    try store.save(second, bytes(3 * mebibyte + 5, 2), .any)
    try store.save("keys", bytes(5000, 3), .any)
    try store.save("albumfs.conf", [1, 2, 3], .any)
  }

  @Test func everyPartReadsAsItWasSaved() throws {
    let store = MemoryObjectStore()
    try Self.fill(store)
    let directory = ObjectDirectory(store)
    var random = SeededRandom()
    for (name, bytes) in store.contents {
      let file = try directory.open(name, .read)
      #expect(try file.size() == Int64(bytes.count))
      for _ in 0..<30 {
        let offset = Int.random(in: 0...bytes.count, using: &random)
        let count = Int.random(in: 0...Self.mebibyte, using: &random)
        let found = try file.bytes(at: Int64(offset), count: count)
        #expect(found == Array(bytes[offset..<min(offset + count, bytes.count)]), "\(random.seed)")
      }
      #expect(try file.bytes(at: Int64(bytes.count) + 7, count: 10).isEmpty)
    }
    #expect(try directory.list("segments") == ["0a", "ff"])
    #expect(try directory.list("segments/0a") == [String(Self.first.suffix(32))])
    #expect(Set(try directory.list("")) == ["albumfs.conf", "keys", "segments"])
    #expect(throws: Errno.noEntry) { try directory.open("albumfs.conf.bak", .read) }
    #expect(throws: Errno.noEntry) { try directory.open(Self.first + "0", .read) }
  }

  /// What was read once costs no request, and the store is listed once.
  @Test func nothingIsLoadedTwice() throws {
    let store = MemoryObjectStore()
    try Self.fill(store)
    let directory = ObjectDirectory(store)
    let file = try directory.open(Self.first, .read)
    _ = try directory.open(Self.second, .read)
    #expect(store.calls(.list) == 16)
    for _ in 0..<3 { _ = try file.bytes(at: 10, count: 2 * Self.mebibyte) }
    #expect(store.calls(.load) == 3)
    inLanes(8, Array(0..<64)) { _ in
      do throws(Errno) { _ = try file.bytes(at: Int64(3 * Self.mebibyte), count: 100) } catch {
        Issue.record("\(error)")
      }
    }
    #expect(store.calls(.load) == 4 && store.calls(.list) == 16)
    // A small file takes one request.
    _ = try directory.contents(of: "keys", limit: 10_000)
    #expect(store.calls(.load) == 5 && store.calls(.stat) == 0)
  }

  /// A mount that follows reads whole segments again and again. Those that are as they were cost no request.
  @Test func wholeSegmentsThatDidNotChangeAreKept() throws {
    let store = MemoryObjectStore()
    try Self.fill(store)
    let directory = ObjectDirectory(store)
    func read(_ name: String) throws -> (bytes: [UInt8], loads: Int) {
      let before = store.calls(.load)
      let file = try directory.open(name, .read)
      let bytes = try file.bytes(at: 0, count: 5 * Self.mebibyte)
      return (bytes, store.calls(.load) - before)
    }
    #expect(try [1, 2, 3, 4].map { _ in try read(Self.first).loads } == [1, 1, 0, 0])
    #expect(try [1, 2, 3].map { _ in try read(Self.second).loads } == [1, 1, 0])
    // The writer has sent more of the one.
    let more = Self.bytes(4 * Self.mebibyte, 4)
    try store.save(Self.first, more, .any)
    directory.expect(Self.first, byteCount: Int64(more.count))
    let anew = try read(Self.first)
    #expect(anew.bytes == more && anew.loads == 1)
    #expect(try read(Self.first).loads == 0)
    #expect(try read(Self.second).loads == 0)
    // A new listing shows what has changed, and that the other one is gone.
    let last = Self.bytes(4 * Self.mebibyte, 5)
    try store.save(Self.first, last, .any)
    try store.remove(Self.second)
    directory.forgetListing()
    #expect(try read(Self.first).bytes == last)
    #expect(throws: Errno.noEntry) { try read(Self.second) }
  }

  /// A mount reads whole journals, and of other segments the first cell: each is one request of just that.
  @Test func aLongReadAndASealTakeOneRequestEach() throws {
    let store = MemoryObjectStore()
    try Self.fill(store)
    let directory = ObjectDirectory(store)
    let content = Self.bytes(4 * Self.mebibyte, 1)
    let file = try directory.open(Self.first, .read)
    #expect(try file.bytes(at: 0, count: content.count + 100) == content)
    #expect(try file.bytes(at: 0, count: 256) == Array(content[..<256]))
    #expect(
      try file.bytes(at: 4096, count: 3 * Self.mebibyte)
        == Array(content[4096...].prefix(3 * Self.mebibyte)))
    #expect(store.calls(.load) == 3)
    #expect(try file.bytes(at: Int64(content.count) + 1, count: 3 * Self.mebibyte).isEmpty)
  }

  /// Small files one behind the other, as thumbnails are, are loaded many at once. One alone is not.
  @Test func smallFilesInARowTakeFewRequests() throws {
    let store = MemoryObjectStore()
    try Self.fill(store)
    let directory = ObjectDirectory(store)
    var loads: [Int] = []
    for (name, bytes) in [(Self.first, 4 << 20), (Self.second, 3 << 20)] {
      let file = try directory.open(name, .read)
      for offset in stride(from: 0, to: bytes - 40_000, by: 40_000) {
        _ = try file.bytes(at: Int64(offset + 300), count: 40_000)
      }
      loads.append(store.calls(.load))
    }
    #expect(loads == [2, 3])
    // Here and there.
    let other = ObjectDirectory(store)
    for name in [Self.first, Self.second] {
      for number in [2, 0] {
        _ = try other.open(name, .read).bytes(at: Int64(number * Self.mebibyte + 9), count: 100)
      }
    }
    #expect(store.calls(.load) == 7)
    _ = try other.open(Self.first, .read).bytes(at: Int64(3 * Self.mebibyte), count: 100)
    #expect(store.calls(.load) == 8)
  }

  /// What is announced is loaded in several requests at once, each part once.
  @Test func whatIsAnnouncedIsLoadedInParallel() throws {
    // Each request waits until three are under way.
    let underWay = Monitor(0, rank: .test)
    let store = MemoryObjectStore { verb, _, _ in
      if verb != .load { return nil }
      underWay.withLock { $0 += 1 }
      underWay.notifyAll()
      let limit = MonotonicTime.now + .seconds(120)
      if underWay.waiting(until: limit, { $0 >= 3 ? () : nil }) == nil { return .lostRequest }
      return nil
    }
    try Self.fill(store)
    let directory = ObjectDirectory(store)
    let file = try directory.open(Self.first, .read)
    file.loadAhead(Int64(Self.mebibyte) - 1..<100 << 20)
    let content = Self.bytes(4 * Self.mebibyte, 1)
    for number in [3, 1, 0, 2] {
      let place = number * Self.mebibyte
      #expect(try file.bytes(at: Int64(place), count: 5000) == Array(content[place..<place + 5000]))
    }
    #expect(store.calls(.load) == 4)
    file.loadAhead(0..<10)
    file.loadAhead(Int64.max - 5..<Int64.max)
    #expect(store.calls(.load) == 4)
  }

  /// However much is read, the cache has a limit.
  @Test func theCacheIsBounded() throws {
    let store = MemoryObjectStore()
    let content = Self.bytes(4 * Self.mebibyte, 4)
    let names = (0..<40).map {
      "segments/00/00" + String(repeating: "\($0 % 10)", count: 29) + "\($0 / 10)"
    }
    for name in names { try store.save(name, content, .any) }
    let directory = ObjectDirectory(store)
    func read(_ name: String) throws {
      let file = try directory.open(name, .read)
      for number in 0..<4 {
        _ = try file.bytes(at: Int64(number * Self.mebibyte), count: Self.mebibyte)
      }
    }
    for name in names { try read(name) }
    let loads = store.calls(.load)
    // The first is gone, the last is there.
    try read(names[39])
    #expect(store.calls(.load) == loads)
    try read(names[0])
    #expect(store.calls(.load) == loads + 4)
  }

  /// A failure is an error of that read, and not of the next one.
  @Test func aNetworkThatComesBackIsUsedAgain() throws {
    let isAway = Mutex(false, rank: .test)
    let store = MemoryObjectStore { verb, _, _ in
      isAway.withLock { $0 } && verb == .load ? .error(.unreachable(.noConnection)) : nil
    }
    try Self.fill(store)
    let directory = ObjectDirectory(store)
    let file = try directory.open(Self.first, .read)
    isAway.withLock { $0 = true }
    #expect(throws: Errno.timedOut) { try file.bytes(at: 0, count: 10) }
    isAway.withLock { $0 = false }
    #expect(try file.bytes(at: 0, count: 10) == Array(Self.bytes(10, 1)))
  }

  /// A segment that was saved anew, or removed, is read as it is after the next listing; the rest stays in
  /// memory.
  @Test func whatHasChangedIsReadAnewAfterTheNextListing() throws {
    let store = MemoryObjectStore()
    try Self.fill(store)
    let directory = ObjectDirectory(store)
    for name in [Self.first, Self.second] {
      _ = try directory.open(name, .read).bytes(at: 1000, count: 10)
    }
    let changed = Self.bytes(4 * Self.mebibyte, 9)
    try store.save(Self.first, changed, .any)
    try store.save("segments/00/0000000000000000000000000000000c", [1], .any)
    #expect(
      try directory.openThere(Self.first).bytes(at: 1000, count: 10) == Array(changed[1000..<1010]))
    let before = store.calls(.load)
    directory.forgetListing()
    let file = try directory.open(Self.first, .read)
    #expect(try file.bytes(at: 1000, count: 10) == Array(changed[1000..<1010]))
    _ = try directory.open(Self.second, .read).bytes(at: 1000, count: 10)
    #expect(store.calls(.load) == before + 1)
    #expect(try directory.list("segments/00").contains("0000000000000000000000000000000c"))
    try store.remove(Self.first)
    directory.forgetListing()
    #expect(throws: Errno.noEntry) { try directory.open(Self.first, .read) }
    #expect(throws: Errno.noEntry) { try directory.openThere(Self.first).bytes(at: 0, count: 1) }
    #expect(throws: Errno.noEntry) { try directory.openThere(Self.first).size() }
    // A copy under way is no store.
    try store.save("albumfs.copying", [1], .any)
    directory.forgetListing()
    #expect(throws: Errno.busy) { try directory.list("segments") }
    try store.remove("albumfs.copying")
    #expect(try !directory.list("segments").isEmpty)
  }

  /// Each reply to a load is once that to another one. The listing tells them apart.
  @Test func exchangedRepliesAreNotBelieved() throws {
    let seen = Mutex<Set<String>>([], rank: .test)
    let store = MemoryObjectStore { verb, name, _ in
      guard verb == .load, seen.withLock({ $0.insert(name).inserted }) else { return nil }
      return .exchanged(name == Self.first ? Self.second : Self.first)
    }
    try Self.fill(store)
    for offset in [0, Self.mebibyte + 7] {
      for count in [200, 3 * Self.mebibyte] {
        seen.withLock { $0 = [] }
        let directory = ObjectDirectory(store)
        let place = try directory.look(loadsKeys: true)
        if case .unfinished = place { Issue.record("\(place)") }
        #expect(try directory.contents(of: "keys", limit: 10_000) == store.contents["keys"])
        for name in [Self.first, Self.second] {
          let wanted = store.contents[name]!.dropFirst(offset).prefix(count)
          let found = try directory.open(name, .read).bytes(at: Int64(offset), count: count)
          #expect(found == Array(wanted), "\(name) \(offset) \(count)")
        }
      }
    }
  }

  /// A segment that was saved again since it was listed is read as it is now. That takes one look.
  @Test func whatWasSavedSinceTheListingIsRead() throws {
    let store = MemoryObjectStore()
    try Self.fill(store)
    let directory = ObjectDirectory(store)
    let file = try directory.open(Self.first, .read)
    let more = Self.bytes(4 * Self.mebibyte, 7)
    try store.save(Self.first, more, .any)
    for number in 0..<3 {
      let place = number * Self.mebibyte
      #expect(try file.bytes(at: Int64(place), count: 500) == Array(more[place..<place + 500]))
    }
    #expect(store.calls(.stat) == 1 && store.calls(.load) == 3)
  }

  @Test func nothingIsWritten() throws {
    let store = MemoryObjectStore()
    try Self.fill(store)
    let before = store.contents
    let directory = ObjectDirectory(store)
    #expect(throws: Errno.readOnly) { try directory.open("keys", .readWrite) }
    #expect(throws: Errno.readOnly) { try directory.open("new", .createNew) }
    #expect(throws: Errno.readOnly) { try directory.remove("keys") }
    #expect(throws: Errno.readOnly) { try directory.rename("keys", to: "other") }
    #expect(throws: Errno.readOnly) { try directory.makeDirectory("segments/01") }
    let file = try directory.open("keys", .read)
    #expect(throws: Errno.readOnly) { try file.writeAll([1]) }
    #expect(store.contents == before)
  }
}
