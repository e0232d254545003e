internal import AlbumModel
package import Posix

/// A store behind an `ObjectStore`, for reading: as it was when it was listed last. Lists it in several
/// lanes, and loads parts of segments as they are needed. What it keeps is in memory, and goes with the
/// process.
package final class ObjectDirectory: StorageDirectory {
  fileprivate struct Segment: Equatable {
    var size: Int64
    /// nil: nothing is known of it.
    var version: ObjectVersion?
  }

  fileprivate struct Listing {
    /// The segments by their folders.
    var folders: [String: [String: Segment]] = [:]
    var byteCount: Int64 = 0
    var count: Int64 = 0
  }

  private let store: any ObjectStore
  private let cache = BlockCache(limit: cacheLimit)
  /// Whole segments that were read more than once.
  private let wholes = BlockCache(limit: wholeLimit)
  private let readOnce = Mutex<Set<String>>([], rank: .leaf)
  private let smallReads = Mutex(SmallReads(), rank: .leaf)
  private let ahead = BackgroundLanes(6)
  private let first = FirstLook()
  private let listing = Mutex<Listing?>(nil, rank: .leaf)
  /// The listing before. Parts of what has changed since are not in the cache any more.
  private let former = Mutex<Listing?>(nil, rank: .leaf)
  /// What has another version than the listing says, since it was saved again.
  private let savedAgain = Mutex<[String: ListedObject]>([:], rank: .leaf)

  /// A thumbnail and its neighbours, or a fifth of a photo.
  private static let blockSize: Int64 = 1 << 20
  /// A longer read takes one request. A mount reads journal and checkpoint so, once.
  private static let longRead = 2 << 20
  /// A mount reads the first cell of many segments, its seal, and nothing else of most of them.
  private static let cell = 256
  private static let cacheLimit = 96 << 20
  private static let wholeLimit = 64 << 20
  fileprivate static let root = "segments"

  package let kind = StorageKind(name: "s3", sharing: .snapshot)
  package let isReadFromServer = true

  package init(_ store: any ObjectStore) { self.store = store }

  // MARK: Reading

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    if access != .read { throw .readOnly }
    let parts = path.split(separator: "/")
    if parts.count == 3, parts[0] == ObjectDirectory.root {
      guard let found = try listed().folders[String(parts[1])]?[String(parts[2])] else {
        throw .noEntry
      }
      return ObjectFile(self, path, found.size)
    }
    return ObjectFile(self, path, try errno { () throws(ObjectError) in try loadSmall(path) })
  }

  /// True if the listing has the segment.
  func lists(_ path: String) throws(Errno) -> Bool { try listed().has(path) }

  /// Takes over that this process has saved a segment, or removed one: nil.
  func record(_ path: String, _ size: Int64?, _ version: ObjectVersion? = nil) {
    forget(path)
    let parts = path.split(separator: "/").map(String.init)
    listing.withLock { listing in
      if parts.count == 3 { listing?.record(parts[1], parts[2], size, version) }
    }
    savedAgain.withLock { $0[path] = nil }
  }

  /// Drops what was read of a segment, which has another content now.
  private func forget(_ path: String) {
    cache.forget(path)
    wholes.forget(path)
  }

  /// The bytes of all segments that are listed.
  func listedBytes() throws(Errno) -> Int64 { try listed().byteCount }

  package func forgetListing() {
    let known = listing.withLock { listing in
      defer { listing = nil }
      return listing
    }
    if let known { former.withLock { $0 = known } }
  }

  package func forgetContents(of path: String?) {
    if let path { return forget(path) }
    cache.forgetAll()
    wholes.forgetAll()
    readOnce.withLock { $0 = [] }
  }

  package func expect(_ path: String, byteCount: Int64) { record(path, byteCount) }

  package func openThere(_ path: String) -> any StorageFile {
    FileThere(
      load: { [self] range throws(Errno) in
        try errno { () throws(ObjectError) in try store.load(path, range, unless: nil) }
      },
      stat: { [self] () throws(Errno) in
        try errno { () throws(ObjectError) in try store.stat(path) }
      })
  }

  /// Loads the beginning of a file that is probably not longer, which spares a request. Returns the size.
  private func loadSmall(_ path: String) throws(ObjectError) -> Int64 {
    let bytes: [UInt8]
    if let known = first.take(path) {
      bytes = try known.get()
    } else {
      bytes = try loadBeginning(path)
    }
    cache.replace(BlockCache.Key(name: path, number: 0), bytes)
    if bytes.count < ObjectDirectory.blockSize { return Int64(bytes.count) }
    guard let facts = try store.stat(path) else { throw .absent }
    return facts.size
  }

  private static let beginning: Range<Int64> = 0..<blockSize

  private func loadBeginning(_ path: String) throws(ObjectError) -> [UInt8] {
    try load(path, ObjectDirectory.beginning)
  }

  // MARK: The first look

  /// What is at the place of a store.
  package enum Place: Sendable {
    /// A store, or nothing of which it is known what it is.
    case usual
    /// A copy that is not complete. `hasConfiguration`: it was a store before, or is one but for the mark.
    case unfinished(hasConfiguration: Bool)
  }

  /// Makes the requests with which every use of a store begins, all at once: the listing of a small store,
  /// and its small files. Each counts once, and only for some seconds. Throws the error of the listing.
  package func look(loadsKeys: Bool) throws(ObjectError) -> Place {
    let names = StoreNames.configurations + (loadsKeys ? [StoreNames.keys] : [])
    let files = Mutex<[String: Result<LoadedObject?, ObjectError>]>([:], rank: .leaf)
    let pages = try inLanes(names.count + 1, [""] + names) {
      [self] name throws(ObjectError) -> ObjectPage? in
      if name.isEmpty { return try store.list("", part: nil) }
      let content = beginning(of: name)
      files.withLock { $0[name] = content }
      return nil
    }
    guard let found = pages.compactMap({ $0 }).first else { throw .stopped }
    for (name, content) in files.withLock({ $0 }) {
      let isShown = found.next == nil || found.objects.last.map { $0.name > name } ?? false
      let listed = found.objects.first { $0.name == name }
      first.give(name, isShown ? confirmed(content, name, listed) : content.map { $0?.bytes ?? [] })
    }
    if found.next == nil { first.give(found) }
    return try place(found)
  }

  /// The names that show an unfinished copy come first in a listing. A server may still reply with an empty
  /// part.
  private func place(_ page: ObjectPage) throws(ObjectError) -> Place {
    let names = page.objects.map(\.name)
    let showsAll = page.next == nil || names.last.map { $0 > StoreNames.unfinished } ?? false
    let isUnfinished =
      showsAll
      ? names.contains { $0.hasPrefix(StoreNames.unfinished) } : try store.holdsUnfinishedCopy()
    if !isUnfinished { return .usual }
    return .unfinished(hasConfiguration: names.contains(StoreNames.configurations[0]))
  }

  private func beginning(of path: String) -> Result<LoadedObject?, ObjectError> {
    Result { () throws(ObjectError) in
      try store.load(path, ObjectDirectory.beginning, unless: nil)
    }
  }

  /// What a small file begins with. It is loaded again if that is not what the listing shows.
  private func confirmed(
    _ content: Result<LoadedObject?, ObjectError>, _ name: String, _ listed: ListedObject?
  ) -> Result<[UInt8], ObjectError> {
    Result { () throws(ObjectError) in
      guard let listed else {
        _ = try content.get()
        return try loadBeginning(name)
      }
      if case .success(let found?) = content, listed.has(found, ObjectDirectory.beginning) {
        return found.bytes
      }
      if case .failure(let error) = content, error != .absent { throw error }
      return try store.load(listed, ObjectDirectory.beginning).bytes
    }
  }

  package func list(_ path: String) throws(Errno) -> [String] {
    let parts = path.split(separator: "/").map(String.init)
    switch parts.count {
    case 0:
      let first = try errno { () throws(ObjectError) in
        try store.listAll("") { $0.last.map { $0.name > ObjectDirectory.root } ?? false }
      }
      let small = first.map(\.name).filter { !$0.contains("/") }
      return small + [ObjectDirectory.root]
    case 1 where parts[0] == ObjectDirectory.root: return try listed().folders.keys.sorted()
    case 2 where parts[0] == ObjectDirectory.root:
      return try listed().folders[parts[1]]?.keys.sorted() ?? []
    default: throw .noEntry
    }
  }

  package func capacity() throws(Errno) -> StorageCapacity {
    let listing = try listed()
    return StorageCapacity(
      blockSize: 4096, totalBytes: listing.byteCount, freeBytes: 0, availableBytes: 0,
      totalFiles: listing.count, freeFiles: 0)
  }

  private func listed() throws(Errno) -> Listing {
    if let known = listing.withLock({ $0 }) { return known }
    let before = former.withLock { $0 }
    if before != nil { try requireFinished() }
    let found: Listing
    if before == nil, let page = first.takePage() {
      found = Listing(page)
    } else {
      found = try listAnew()
    }
    savedAgain.withLock { $0 = [:] }
    if let before {
      for path in found.changed(since: before) { forget(path) }
      readOnce.withLock { $0 = $0.filter(found.has) }
      former.withLock { $0 = nil }
    }
    return listing.withLock { listing in
      listing = listing ?? found
      return listing ?? found
    }
  }

  /// A store that is copied anew is none until the copy is complete.
  private func requireFinished() throws(Errno) {
    let isUnfinished = try errno { () throws(ObjectError) in try store.holdsUnfinishedCopy() }
    if isUnfinished { throw .busy }
  }

  /// One listing for each first digit of the folders.
  private func listAnew() throws(Errno) -> Listing {
    let found = try errno { () throws(ObjectError) in
      try inLanes(16, Array("0123456789abcdef")) { [store] digit throws(ObjectError) in
        try store.listAll("\(ObjectDirectory.root)/\(digit)")
      }
    }
    var listing = Listing()
    for objects in found { objects.forEach { listing.add($0) } }
    return listing
  }

  /// Reads at `offset`; returns the number of bytes.
  fileprivate func read(
    _ path: String, _ size: Int64, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(Errno) -> Int {
    let isCell =
      offset == 0 && buffer.count <= ObjectDirectory.cell && path.hasPrefix(StoreNames.segments)
    if buffer.count > ObjectDirectory.longRead || isCell {
      return try unsafe readAtOnce(path, size, into: buffer, at: offset)
    }
    var done = 0
    while done < buffer.count, offset + Int64(done) < size {
      let place = offset + Int64(done)
      let number = place / ObjectDirectory.blockSize
      let begin = number * ObjectDirectory.blockSize
      let bytes = try block(path, number, size, isSmall: buffer.count <= SmallReads.limit)
      let from = Int(place - begin)
      let count = min(buffer.count - done, bytes.count - from)
      if count <= 0 { break }
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[from..<from + count]))
      }
      done += count
    }
    return done
  }

  private func readAtOnce(
    _ path: String, _ size: Int64, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(Errno) -> Int {
    let wanted = offset..<max(offset, min(size, offset + Int64(buffer.count)))
    if wanted.isEmpty { return 0 }
    let isWhole = wanted == 0..<size && size > ObjectDirectory.longRead
    let bytes = try errno { () throws(ObjectError) in
      isWhole ? try whole(path, size) : try load(path, wanted)
    }
    let count = min(bytes.count, buffer.count)
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    }
    return count
  }

  /// A whole segment. From the second time on it is kept: a mount that follows reads journal and checkpoint
  /// whenever the writer has sent something, and most of their segments are as they were.
  private func whole(_ path: String, _ size: Int64) throws(ObjectError) -> [UInt8] {
    let isFirst = readOnce.withLock { $0.insert(path).inserted }
    if isFirst { return try load(path, 0..<size) }
    return try wholes.bytes(BlockCache.Key(name: path, number: 0)) { () throws(ObjectError) in
      try load(path, 0..<size)
    }
  }

  private func load(_ path: String, _ range: Range<Int64>) throws(ObjectError) -> [UInt8] {
    if let listed = object(at: path) {
      let loaded = try store.load(listed, range)
      if loaded.version != listed.version {
        let now = ListedObject(name: path, size: listed.size, version: loaded.version)
        savedAgain.withLock { $0[path] = now }
      }
      return loaded.bytes
    }
    guard let loaded = try store.load(path, range, unless: nil) else { throw .failed("no content") }
    return loaded.bytes
  }

  /// A segment in the state in which it was seen last; nil if no version of it is known.
  private func object(at path: String) -> ListedObject? {
    if let known = savedAgain.withLock({ $0[path] }) { return known }
    let parts = path.split(separator: "/").map(String.init)
    if parts.count != 3 { return nil }
    let known = listing.withLock { $0 } ?? former.withLock { $0 }
    guard let segment = known?.folders[parts[1]]?[parts[2]], let version = segment.version else {
      return nil
    }
    return ListedObject(name: path, size: segment.size, version: version)
  }

  private func block(
    _ path: String, _ number: Int64, _ size: Int64, isSmall: Bool
  ) throws(Errno) -> [UInt8] {
    if isSmall { smallReads.withLock { $0.countRead() } }
    let key = BlockCache.Key(name: path, number: number)
    return try errno { () throws(ObjectError) in
      try cache.bytes(key) { () throws(ObjectError) in
        let count = isSmall ? smallReads.withLock { $0.countMiss() } : 1
        return try load(key, size, blocks: count)
      }
    }
  }

  /// Loads a block, and those behind it that are not there, in one request. Returns the first one.
  private func load(
    _ key: BlockCache.Key, _ size: Int64, blocks count: Int
  ) throws(ObjectError) -> [UInt8] {
    let begin = key.number * ObjectDirectory.blockSize
    let left = (size - begin - 1) / ObjectDirectory.blockSize
    let more = cache.claim(behind: key, atMost: min(count - 1, Int(clamping: left)))
    let end = min(size, begin + Int64(more.count + 1) * ObjectDirectory.blockSize)
    do throws(ObjectError) {
      let bytes = try load(key.name, begin..<end)
      let block = Int(ObjectDirectory.blockSize)
      for (place, key) in more.enumerated() {
        cache.take(key, Array(bytes.dropFirst((place + 1) * block).prefix(block)))
      }
      return Array(bytes.prefix(block))
    } catch {
      cache.giveUp(more)
      throw error
    }
  }

  /// Loads the blocks of a range that are not there, each with a request of its own, at once.
  fileprivate func loadAhead(_ path: String, _ size: Int64, _ range: Range<Int64>) {
    let range = range.clamped(to: 0..<size)
    if range.isEmpty { return }
    let last = (range.upperBound - 1) / ObjectDirectory.blockSize
    for number in range.lowerBound / ObjectDirectory.blockSize...last {
      if cache.has(BlockCache.Key(name: path, number: number)) { continue }
      // Whoever reads it shows the error.
      ahead.add { [self] in _ = try? block(path, number, size, isSmall: false) }
    }
  }

  private func errno<Result>(_ body: () throws(ObjectError) -> Result) throws(Errno) -> Result {
    do throws(ObjectError) { return try body() } catch { throw Errno(error) }
  }

  // MARK: Writing

  package func makeDirectory(_ path: String) throws(Errno) { throw .readOnly }
  package func rename(_ from: String, to: String) throws(Errno) { throw .readOnly }
  package func remove(_ path: String) throws(Errno) { throw .readOnly }
  package func syncDirectory(_ path: String) throws(Errno) { throw .readOnly }
}

extension ObjectDirectory.Listing {
  /// Of a page that has all objects of the store.
  fileprivate init(_ page: ObjectPage) {
    for object in page.objects where object.name.hasPrefix(StoreNames.segments) { add(object) }
  }

  fileprivate mutating func add(_ object: ListedObject) {
    let parts = object.name.split(separator: "/").map(String.init)
    if parts.count != 3 { return }
    record(parts[1], parts[2], object.size, object.version)
  }

  fileprivate func has(_ path: String) -> Bool {
    let parts = path.split(separator: "/").map(String.init)
    return parts.count == 3 && folders[parts[1]]?[parts[2]] != nil
  }

  /// The segments of an earlier listing that are not the same now, or not there.
  fileprivate func changed(since former: ObjectDirectory.Listing) -> [String] {
    var paths: [String] = []
    for (folder, segments) in former.folders {
      for (name, segment) in segments where folders[folder]?[name] != segment {
        paths.append("\(ObjectDirectory.root)/\(folder)/\(name)")
      }
    }
    return paths
  }

  /// nil: it is not there any more.
  fileprivate mutating func record(
    _ folder: String, _ name: String, _ size: Int64?, _ version: ObjectVersion?
  ) {
    let former = folders[folder]?[name]?.size
    folders[folder, default: [:]][name] = size.map {
      ObjectDirectory.Segment(size: $0, version: version)
    }
    byteCount = byteCount.saturatingAdd(size ?? 0).saturatingSubtract(former ?? 0)
    count += (size == nil ? 0 : 1) - (former == nil ? 0 : 1)
  }
}

extension Errno {
  init(_ error: ObjectError) {
    self =
      switch error {
      case .absent: .noEntry
      case .refused: .accessDenied
      case .unreachable: .timedOut
      case .disk(let error): error
      case .exists: .exists
      case .full: .noSpace
      case .changed, .damaged, .program, .stopped, .failed: .io
      }
  }
}

/// One file of such a store.
private final class ObjectFile: ObjectContent {
  private let directory: ObjectDirectory
  private let path: String
  private let byteCount: Int64

  init(_ directory: ObjectDirectory, _ path: String, _ byteCount: Int64) {
    (self.directory, self.path, self.byteCount) = (directory, path, byteCount)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
    try unsafe directory.read(path, byteCount, into: buffer, at: offset)
  }

  func loadAhead(_ range: Range<Int64>) { directory.loadAhead(path, byteCount, range) }

  func size() throws(Errno) -> Int64 { byteCount }
}
