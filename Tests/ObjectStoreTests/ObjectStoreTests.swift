import AlbumSecrets
import AlbumTestSupport
import ObjectStores
import Posix
import Testing

/// One suite over everything that keeps objects: what a caller of the five verbs may rely on holds for all.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ObjectStoreTests {
  /// The implementations; the real server with the bucket in the name of its host, over IPv6, and behind a network
  /// that fails each third request.
  enum Kind: CaseIterable {
    case memory, directory, server, serverWithBucketInHost, serverOverIPv6, serverBehindFaults
  }

  /// A store, and what lives as long as it.
  struct Tried {
    let store: any ObjectStore
    let kept: [any Sendable]
  }

  static func make(_ kind: Kind) throws -> Tried {
    switch kind {
    case .memory: return Tried(store: MemoryObjectStore(startsEmpty: true), kept: [])
    case .directory:
      let place = TemporaryDirectory()
      let directory = try PosixDirectory(path: place.path)
      return Tried(store: DirectoryStore(place: place.path, directory), kept: [place])
    case .server:
      let server = try ObjectServer.shared()
      return Tried(store: try server.store(server.makeBucket()), kept: [])
    case .serverWithBucketInHost:
      let server = try ObjectServer.shared()
      var options = S3StoreOptions()
      options.isBucketInHost = true
      let store = try server.store(
        server.makeBucket(), authority: server.namedAuthority, options: options)
      return Tried(store: store, kept: [])
    case .serverOverIPv6:
      let server = try ObjectServer.shared()
      let network = try FaultyNetwork(to: server, isIPv6: true)
      let store = try server.store(server.makeBucket(), authority: network.authority)
      return Tried(store: store, kept: [network])
    case .serverBehindFaults:
      let server = try ObjectServer.shared()
      let network = try FaultyNetwork(to: server, everyThird: true)
      let store = try server.store(server.makeBucket(), authority: network.authority)
      return Tried(store: store, kept: [network])
    }
  }

  private static func segment(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    let name = String(repeating: "0", count: 32 - digits.count) + digits
    return "segments/00/\(name)"
  }

  private static func random(_ count: Int, _ seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
  }

  @Test(arguments: Kind.allCases)
  func whatIsSavedIsLoadedAsAWholeAndInParts(kind: Kind) throws {
    let tried = try Self.make(kind)
    let store = tried.store
    for size in [0, 1, 255, 65_537, 1 << 20] {
      let bytes = Self.random(size, UInt64(size))
      let version = try store.save("keys", bytes, .any)
      #expect(try store.load("keys") == bytes)
      let facts = try #require(try store.stat("keys"))
      #expect(facts.size == Int64(size) && facts.version == version)
      #expect(facts.digest == SHA256.hash(bytes))
      #expect(try store.load("keys", nil, unless: version) == nil)
      for range in [0..<1, 100..<200, 65_000..<70_000] as [Range<Int64>] {
        let part = try store.load("keys", range, unless: nil)
        let expected = bytes[
          Int(min(range.lowerBound, Int64(size)))..<Int(min(range.upperBound, Int64(size)))]
        #expect(part?.bytes == Array(expected), "\(size), \(range)")
      }
    }
    withExtendedLifetime(tried) {}
  }

  @Test(arguments: Kind.allCases)
  func aConditionThatDoesNotHoldChangesNothing(kind: Kind) throws {
    let tried = try Self.make(kind)
    let store = tried.store
    #expect(throws: ObjectError.absent) { try store.load("keys") }
    #expect(try store.stat("keys") == nil)
    let first = try store.save("keys", [1], .absent)
    #expect(throws: ObjectError.exists) { try store.save("keys", [2], .absent) }
    #expect(try store.load("keys") == [1])
    let second = try store.save("keys", [3], .same(first))
    #expect(second != first)
    #expect(throws: ObjectError.changed) { try store.save("keys", [4], .same(first)) }
    #expect(try store.load("keys") == [3])
    #expect(try store.load("keys", nil, unless: first)?.bytes == [3])
    #expect(throws: ObjectError.absent) { try store.save("albumfs.conf", [5], .same(first)) }
    #expect(try store.stat("albumfs.conf") == nil)
    try store.remove("keys")
    try store.remove("keys")
    #expect(try store.stat("keys") == nil)
    withExtendedLifetime(tried) {}
  }

  /// Sixteen threads save under one name at once, new or in place of the same state.
  @Test(arguments: Kind.allCases, [true, false])
  func ofManyWhoSaveAtOnceOneWins(kind: Kind, isNew: Bool) throws {
    let tried = try Self.make(kind)
    for round in 0..<2 {
      let name = Self.segment(round)
      let condition = isNew ? SaveCondition.absent : .same(try tried.store.save(name, [0], .any))
      let winners = Mutex([UInt8](), rank: .test)
      inLanes(16, Array(1...16 as ClosedRange<UInt8>)) { number in
        do throws(ObjectError) {
          try tried.store.save(name, [UInt8](repeating: number, count: 1000), condition)
          winners.withLock { $0.append(number) }
        } catch {
          if error != .exists && error != .changed { Issue.record("\(error)") }
        }
      }
      let won = winners.withLock { $0 }
      #expect(won.count == 1, "\(won)")
      #expect(try tried.store.load(name).first == won.first)
    }
  }

  @Test(arguments: [Kind.memory, .directory, .server])
  func aListingHasEverythingInOrderAndNothingElse(kind: Kind) throws {
    let tried = try Self.make(kind)
    let store = tried.store
    let names = (0..<ObjectPage.limit + 30).map { Self.segment($0) }
    inLanes(8, names.shuffled()) { name in
      do throws(ObjectError) { try store.save(name, [7], .any) } catch { Issue.record("\(error)") }
    }
    for name in ["albumfs.conf", "keys", "segments/ff/ff00000000000000000000000000000a"] {
      try store.save(name, [1, 2], .any)
    }
    #expect(try store.list("segments/00/", part: nil).next != nil)
    let few = try store.listAll("segments/00/") { !$0.isEmpty }
    #expect(few.map(\.name) == Array(names.prefix(ObjectPage.limit)))
    #expect(try store.listAll("segments/00/").map(\.name) == names)
    let all = try store.listAll("")
    #expect(all.count == names.count + 3 && all.map(\.name) == all.map(\.name).sorted())
    #expect(all.first?.name == "albumfs.conf" && all.first?.size == 2)
    let facts = try #require(try store.stat("albumfs.conf"))
    #expect(all.first?.version == facts.version)
    try store.remove(names[3])
    #expect(!(try store.listAll("segments/").map(\.name).contains(names[3])))
    #expect(try store.hasObjects("keys") && !store.hasObjects("keyz"))
    withExtendedLifetime(tried) {}
  }

  @Test(arguments: Kind.allCases)
  func aTrialShowsWhatTheStoreDoesAndLeavesNothing(kind: Kind) throws {
    let tried = try Self.make(kind)
    let properties = try tried.store.probe()
    #expect(properties.createsIfAbsent && properties.replacesIfSame && properties.listsAtOnce)
    #expect(try tried.store.listAll("").isEmpty)
  }

  /// A directory shows neither halves of files nor what is none of the store's.
  @Test func aDirectoryShowsWholeFilesOnly() throws {
    let place = TemporaryDirectory()
    let directory = try PosixDirectory(path: place.path)
    let store = DirectoryStore(place: place.path, directory)
    try store.save("segments/3f/3f000000000000000000000000000001", [1], .any)
    _ = try directory.open("segments/3f/3f000000000000000000000000000002.new-77", .createNew)
    #expect(try store.listAll("").count == 1)
    try store.removeUnfinished()
    #expect(try directory.list("segments/3f").count == 1)
  }
}
