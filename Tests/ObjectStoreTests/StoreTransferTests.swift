import AlbumFormat
import AlbumTestSupport
import ObjectStores
import Posix
import Testing

/// A store is copied as a set of files: wholly, or what is left is no store and the next copy continues; never
/// over anything else.
@Suite(.timeLimit(.minutes(10))) struct StoreTransferTests {
  private static func configuration(_ salt: UInt8) -> [UInt8] {
    let derivation = KeyDerivation(
      number: 1, cost: .moderate, salt: [UInt8](repeating: salt, count: 16))
    return StoreConfiguration(segmentSize: 1 << 18, derivations: [derivation]).encode()
  }

  private static func segment(_ number: UInt8) -> String {
    let digits = (number < 16 ? "0" : "") + String(number, radix: 16)
    return "segments/\(digits)/\(digits)" + String(repeating: "0", count: 30)
  }

  /// A store with ten segments.
  private static func fill(_ store: some ObjectStore, salt: UInt8 = 1) throws {
    for number in UInt8(1)...10 {
      try store.save(segment(number), [UInt8](repeating: number, count: 1000), .any)
    }
    try store.save("keys", [UInt8](repeating: 9, count: 4096), .any)
    for name in ["albumfs.conf", "albumfs.conf.bak"] {
      try store.save(name, configuration(salt), .any)
    }
  }

  private static func source(startsEmpty: Bool = false) throws -> MemoryObjectStore {
    let store = MemoryObjectStore(startsEmpty: startsEmpty)
    try fill(store)
    // Not of the store, and not copied.
    try store.save("notes.txt", [1], .any)
    try store.save("segments/zz/stray", [1], .any)
    return store
  }

  private static func wanted(_ source: MemoryObjectStore) -> [String: [UInt8]] {
    source.contents.filter { $0.key != "notes.txt" && !$0.key.contains("zz") }
  }

  private static func options(_ change: (inout StoreTransfer.Options) -> Void = { _ in })
    -> StoreTransfer.Options
  {
    var options = StoreTransfer.Options()
    options.lanes = 1
    change(&options)
    return options
  }

  /// Also from and to a server whose listings begin with a part that has nothing.
  @Test(arguments: [false, true]) func aCopyHasAllFilesAndNoOthers(startsEmpty: Bool) throws {
    let source = try Self.source(startsEmpty: startsEmpty)
    let target = MemoryObjectStore(startsEmpty: startsEmpty)
    let report = try StoreTransfer(from: source, to: target, Self.options()).run()
    #expect(target.contents == Self.wanted(source))
    #expect(report.copied == 13 && report.present == 0 && report.readBack == 0)
    let options = Self.options {
      ($0.updates, $0.watchTime) = (true, .zero)
    }
    let again = try StoreTransfer(from: source, to: target, options).run()
    #expect(target.contents == Self.wanted(source) && again.removed == 0)
  }

  /// A target that checks nothing is read back, and every target on request.
  @Test(arguments: [true, false]) func whatIsNotCheckedIsReadBack(checks: Bool) throws {
    let target = MemoryObjectStore(checksContent: checks)
    let report = try StoreTransfer(
      from: Self.source(), to: target, Self.options { $0.verifies = checks }
    ).run()
    #expect(report.readBack == 13)
  }

  /// Stopped at each single call of the target in turn, by an error or by a lost reply, a copy leaves no store,
  /// and the same command completes it.
  @Test(arguments: [MemoryObjectStore.Fault.lostRequest, .lostReply])
  func anInterruptedCopyIsNoStoreAndContinues(fault: MemoryObjectStore.Fault) throws {
    let source = try Self.source()
    var (interrupted, continued) = (0, 0)
    for number in 1...200 {
      let target = MemoryObjectStore { _, _, count in count == number ? fault : nil }
      do {
        _ = try StoreTransfer(from: source, to: target, Self.options()).run()
        break
      } catch {
        interrupted += 1
        guard case .target = error else {
          Issue.record("\(error)")
          return
        }
      }
      let left = target.contents
      let isStore = left["albumfs.conf"] != nil || left["albumfs.conf.bak"] != nil
      if isStore { #expect(left.count >= 13, "\(number): a store without its segments") }
      if left == Self.wanted(source) { continue }
      let report = try StoreTransfer(from: source, to: target, Self.options()).run()
      #expect(target.contents == Self.wanted(source), "\(number)")
      if report.present > 0 { continued += 1 }
    }
    #expect(interrupted > 20 && interrupted < 200)
    #expect(continued > 8, "what was there already is copied again")
  }

  /// No lock shows that a machine has a store in an object storage mounted; its writes do. It writes while the copy
  /// watches, or between the last look and the mark that keeps mounts out.
  @Test(arguments: [MemoryObjectStore.Verb.list, .save])
  func aStoreToWhichAMachineWritesIsNotOverwritten(before verb: MemoryObjectStore.Verb) throws {
    let holder = Mutex<MemoryObjectStore?>(nil, rank: .test)
    let isDue = Mutex(false, rank: .test)
    let target = MemoryObjectStore { called, _, _ in
      let store = holder.withLock { $0 }
      // The copy has listed the store before.
      guard let store, called == verb, store.calls(.list) > (verb == .list ? 1 : 0) else {
        return nil
      }
      let writes = isDue.withLock { isDue in
        defer { isDue = false }
        return isDue
      }
      if writes { _ = try? store.save(Self.segment(3), [7, 7], .any) }
      return nil
    }
    try Self.fill(target)
    let before = target.contents
    holder.withLock { $0 = target }
    isDue.withLock { $0 = true }
    #expect(throws: StoreTransferError.inUse) {
      try StoreTransfer(from: Self.source(), to: target, Self.options { $0.updates = true }).run()
    }
    #expect(target.contents == before.merging([Self.segment(3): [7, 7]]) { $1 })
    // When it has ended, the copy is made.
    _ = try StoreTransfer(from: Self.source(), to: target, Self.options { $0.updates = true }).run()
    #expect(target.contents == before)
  }

  @Test func nothingElseIsOverwritten() throws {
    let source = try Self.source()
    let foreign = MemoryObjectStore()
    try foreign.save("photo.jpg", [1], .any)
    #expect(throws: StoreTransferError.occupied) {
      try StoreTransfer(from: source, to: foreign, Self.options { $0.updates = true }).run()
    }
    let other = MemoryObjectStore()
    try Self.fill(other, salt: 2)
    let before = other.contents
    #expect(throws: StoreTransferError.otherStore) {
      try StoreTransfer(from: source, to: other, Self.options { $0.updates = true }).run()
    }
    #expect(foreign.contents.count == 1 && other.contents == before)
    // The unfinished copy of another store.
    let begun = MemoryObjectStore()
    try begun.save("albumfs.copying", Self.configuration(2), .any)
    #expect(throws: StoreTransferError.otherStore) {
      try StoreTransfer(from: source, to: begun, Self.options()).run()
    }
  }

  @Test func onlyAStoreIsCopied() throws {
    #expect(throws: StoreTransferError.noStore) {
      try StoreTransfer(from: MemoryObjectStore(), to: MemoryObjectStore(), Self.options()).run()
    }
    let unfinished = try Self.source()
    try unfinished.save("albumfs.copying", Self.configuration(1), .any)
    #expect(throws: StoreTransferError.unfinishedSource) {
      try StoreTransfer(from: unfinished, to: MemoryObjectStore(), Self.options()).run()
    }
  }

  /// What has changed is copied, what is gone is removed, and nothing happens without being asked for.
  @Test func aCopyIsMadeTheSameAgain() throws {
    let (source, target) = (try Self.source(), MemoryObjectStore())
    _ = try StoreTransfer(from: source, to: target, Self.options()).run()
    try source.save(Self.segment(3), [UInt8](repeating: 33, count: 1000), .any)
    try source.save(Self.segment(4), [UInt8](repeating: 4, count: 2000), .any)
    try source.save(Self.segment(20), [1], .any)
    try source.remove(Self.segment(5))
    try source.save("keys", [UInt8](repeating: 8, count: 4096), .any)
    try target.save("notes of mine", [1], .any)
    #expect(throws: StoreTransferError.copied) {
      try StoreTransfer(from: source, to: target, Self.options()).run()
    }
    let report = try StoreTransfer(from: source, to: target, Self.options { $0.updates = true })
      .run()
    #expect(report.copied == 4 && report.removed == 1 && report.present == 7)
    var found = target.contents
    #expect(found.removeValue(forKey: "notes of mine") == [1])
    #expect(found == Self.wanted(source))
  }

  /// Damage at the target is found by a copy that verifies, and repaired by it.
  @Test func damageAtTheTargetIsRepaired() throws {
    let (source, target) = (try Self.source(), MemoryObjectStore())
    _ = try StoreTransfer(from: source, to: target, Self.options()).run()
    target.damage(Self.segment(7))
    let options = Self.options { ($0.updates, $0.verifies) = (true, true) }
    let report = try StoreTransfer(from: source, to: target, options).run()
    #expect(report.copied == 1 && target.contents == Self.wanted(source))
  }

  /// A target that keeps something else than it got is not called a copy.
  @Test func aTargetThatLiesIsNamed() throws {
    let target = MemoryObjectStore(checksContent: false) { verb, name, _ in
      verb == .load && name == Self.segment(6) ? .garbled : nil
    }
    #expect(throws: StoreTransferError.differs(Self.segment(6))) {
      try StoreTransfer(from: Self.source(), to: target, Self.options()).run()
    }
    #expect(target.contents["albumfs.conf"] == nil)
  }

  /// A reply to another request comes with the digest of its own object.
  @Test func anExchangedReplyIsNotCopied() throws {
    let isFirst = Mutex(true, rank: .test)
    let source = MemoryObjectStore { verb, name, _ in
      if verb != .load || name != Self.segment(1) { return nil }
      return isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst ? .exchanged(Self.segment(2)) : nil
      }
    }
    try Self.fill(source)
    let target = MemoryObjectStore()
    _ = try StoreTransfer(from: source, to: target, Self.options()).run()
    #expect(!isFirst.withLock { $0 } && target.contents == Self.wanted(source))
  }

  @Test func aStoppedCopySaysSoAndContinues() throws {
    let (source, target) = (try Self.source(), MemoryObjectStore())
    let options = Self.options { $0.isStopped = { target.calls(.save) > 5 } }
    #expect(throws: StoreTransferError.stopped) {
      try StoreTransfer(from: source, to: target, options).run()
    }
    let report = try StoreTransfer(from: source, to: target, Self.options()).run()
    #expect(report.present == 5 && target.contents == Self.wanted(source))
  }

  /// Progress ends at all that there is to do.
  @Test func progressReachesItsEnd() throws {
    let last = Mutex(StoreTransferProgress(), rank: .test)
    let options = Self.options { $0.watch = { progress in last.withLock { $0 = progress } } }
    _ = try StoreTransfer(from: Self.source(), to: MemoryObjectStore(), options).run()
    let end = last.withLock { $0 }
    #expect(
      end.doneFiles == 10 && end.files == 10 && end.doneBytes == 10_000 && end.bytes == 10_000)
  }

  /// A copy in a directory has the folders and the times of a store at rest, and is locked while it is made.
  @Test func aDirectoryBecomesAStoreAtRest() throws {
    let place = TemporaryDirectory()
    let directory = try PosixDirectory(path: place.path)
    let target = DirectoryStore(place: place.path, directory)
    let source = try Self.source()
    _ = try StoreTransfer(from: source, to: target, Self.options()).run()
    #expect(try directory.list("segments").count == 256)
    #expect(
      Set(try directory.list("")) == ["albumfs.conf", "albumfs.conf.bak", "keys", "segments"])
    for name in ["", "segments", "segments/01", "segments/aa"] {
      #expect(try directory.folderTimes(name)?.modified == SegmentChecksum.firstTime, "\(name)")
    }
    let file = try directory.open(Self.segment(1), .read)
    let bytes = [UInt8](repeating: 1, count: 1000)
    #expect(try file.modificationTime() == SegmentChecksum.time(ofSegment: bytes))
    let conf = try directory.open("albumfs.conf", .readWrite)
    try conf.lock(exclusive: true, offset: 77, length: 1, wait: false)
    #expect(throws: StoreTransferError.inUse) {
      try StoreTransfer(from: source, to: target, Self.options { $0.updates = true }).run()
    }
  }
}
