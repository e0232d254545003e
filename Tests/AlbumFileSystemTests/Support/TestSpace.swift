import AlbumFileSystem
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix

@testable import AlbumStore

/// A mounted space of one test, used by paths as a person would.
// @unchecked because only a remount, on the test's one thread, replaces `space` and `fileSystem`.
final class TestSpace: @unchecked Sendable {
  static let me = Caller(user: 1000, group: 1000)

  private let directory: TemporaryDirectory
  private let store: Store
  private let keys: SpaceKeys
  private let grace: Int64
  let disk: FillableDirectory
  let observer = FakeObserver()
  let clock = FakeClock()
  private(set) var space: Space
  private(set) var fileSystem: FileSystem

  /// `grace`: how long segments that are no longer needed stay, in seconds. `background`: threads of the space
  /// append frames and barriers.
  convenience init(grace: Int64 = 900, background: Bool = true) throws {
    let (directory, keys) = (TemporaryDirectory(), SpaceKeys())
    let disk = try FillableDirectory(PosixDirectory(path: directory.path))
    try disk.makeDirectory("segments")
    try Space.create(
      in: Store(directory: disk, segmentSize: TestSpace.segmentSize), keys: keys,
      options: SpaceOptions(owner: 1000, group: 1000))
    try self.init(directory, disk, keys, grace, background: background)
  }

  private static let segmentSize = 256 << 10

  private init(
    _ directory: TemporaryDirectory, _ disk: FillableDirectory, _ keys: SpaceKeys, _ grace: Int64,
    background: Bool = true
  ) throws {
    (self.directory, self.disk, self.keys, self.grace) = (directory, disk, keys, grace)
    store = Store(directory: disk, segmentSize: TestSpace.segmentSize)
    var options = TestSpace.options(grace)
    options.worksInBackground = background
    space = try Space.open(store, keys: keys, options: options)
    fileSystem = FileSystem(space: space, clock: clock.clock)
    fileSystem.add(observer)
  }

  /// What a copy of the store shows that is made now: the catalog of this instant, read from the journal.
  func copied() throws -> TestSpace {
    try space.commit()
    let copy = TemporaryDirectory()
    _ = try Command("/bin/cp", ["-a", directory.path + "/.", copy.path]).run()
    return try TestSpace(
      copy, FillableDirectory(PosixDirectory(path: copy.path)), keys, grace)
  }

  private static func options(_ grace: Int64) -> SpaceOpenOptions {
    var options = SpaceOpenOptions(logger: Logger(label: "test"))
    options.grace = .seconds(grace)
    return options
  }

  deinit { space.context.keeper.stop() }

  /// Unmounts and mounts again.
  func remount() throws {
    if let error = fileSystem.close() { throw error }
    try space.close()
    try mount()
  }

  /// Ends the process without an unmount, and mounts again.
  func crash() throws {
    space.context.keeper.stop()
    space.context.lock?.release()
    try mount()
  }

  private func mount() throws {
    space = try Space.open(store, keys: keys, options: TestSpace.options(grace))
    fileSystem = FileSystem(space: space, clock: clock.clock)
    fileSystem.add(observer)
  }

  // MARK: Paths

  func split(_ path: String) throws -> (parent: InodeNumber, name: FileName) {
    var parts = path.split(separator: "/").map(String.init)
    let last = parts.removeLast()
    return (try number(parts.joined(separator: "/")), try FileName(last))
  }

  func number(_ path: String) throws -> InodeNumber {
    try fileSystem.resolve(path: Array(path.utf8))
  }

  func status(_ path: String) throws -> Attributes {
    try fileSystem.attributes(of: try number(path))
  }

  func exists(_ path: String) -> Bool { (try? number(path)) != nil }

  func lookup(_ path: String) throws -> Entry {
    let (parent, name) = try split(path)
    return try fileSystem.lookup(name, in: parent)
  }

  // MARK: Calls

  @discardableResult
  func mkdir(_ path: String, mode: UInt16 = 0o755, by caller: Caller = me) throws -> Entry {
    let (parent, name) = try split(path)
    return try fileSystem.makeDirectory(name, in: parent, permissions: mode, for: caller)
  }

  func create(_ path: String) throws -> OpenFile {
    let (parent, name) = try split(path)
    return try fileSystem.create(
      name, in: parent, permissions: 0o644, mode: OpenMode(writes: true), for: TestSpace.me
    ).1
  }

  func open(_ path: String, writes: Bool = false, truncates: Bool = false) throws -> OpenFile {
    try fileSystem.open(
      number(path), mode: OpenMode(writes: writes, truncates: truncates))
  }

  /// Creates the file or writes it anew, as `cat >` does.
  func write(_ content: [UInt8], to path: String) throws {
    let file = exists(path) ? try open(path, writes: true, truncates: true) : try create(path)
    try file.put(content, at: 0)
    try file.flush()
    file.release()
  }

  func write(_ text: String, to path: String) throws { try write(Array(text.utf8), to: path) }

  func read(_ path: String) throws -> [UInt8] {
    let file = try open(path)
    defer { file.release() }
    return try file.get(Int(status(path).size), at: 0)
  }

  func text(_ path: String) throws -> String { String(decoding: try read(path), as: UTF8.self) }

  func rename(
    _ path: String, _ newPath: String, noReplace: Bool = false, exchange: Bool = false
  ) throws {
    let (parent, name) = try split(path)
    let (newParent, newName) = try split(newPath)
    try fileSystem.rename(
      name, in: parent, to: newName, in: newParent,
      mode: RenameMode(noReplace: noReplace, exchange: exchange))
  }

  func link(_ path: String, _ newPath: String) throws {
    let (parent, name) = try split(newPath)
    _ = try fileSystem.link(number(path), as: name, in: parent)
  }

  func unlink(_ path: String) throws {
    let (parent, name) = try split(path)
    try fileSystem.unlink(name, in: parent)
  }

  func rmdir(_ path: String) throws {
    let (parent, name) = try split(path)
    try fileSystem.removeDirectory(name, in: parent)
  }

  func list(_ path: String) throws -> [String] {
    let directory = try fileSystem.openDirectory(number(path))
    var names: [String] = []
    try directory.list(from: 0) { entry in
      names.append(entry.name.display)
      return true
    }
    return names.filter { $0 != "." && $0 != ".." }.sorted()
  }

  /// Removes a tree as `rm -r` does: the listed entries first, then the directory.
  func removeAll(_ path: String) throws {
    for name in try list(path) {
      let child = "\(path)/\(name)"
      if try status(child).kind == .directory {
        try removeAll(child)
      } else {
        try unlink(child)
      }
    }
    try rmdir(path)
  }

  // MARK: Deleted files

  /// Lets removed files go at once.
  func keepNoDeletedFiles() { space.deletedPolicy.isOn = false }

  /// All deleted files, in the order of their numbers.
  var deleted: [DeletedFile] {
    var files: [DeletedFile] = []
    var place: UInt32? = 0
    while let start = place {
      let page = fileSystem.deletedFiles(from: start)
      files += page.files
      place = page.next
    }
    return files.sorted { $0.inode < $1.inode }
  }

  /// The paths of all deleted files, sorted.
  var deletedPaths: [String] { deleted.map { String(decoding: $0.path, as: UTF8.self) }.sorted() }

  /// Brings back the deleted file that had this path; returns its new path.
  @discardableResult
  func restore(_ path: String) throws -> String {
    guard let file = deleted.first(where: { $0.path == Array(path.utf8) }) else {
      throw FSError(.notFound)
    }
    return String(decoding: try fileSystem.restoreDeleted(file).path, as: UTF8.self)
  }

  // MARK: Thumbnails

  /// Does the thumbnailer's work: a thumbnail is "thumbnail of " and the photo's content. A photo that begins
  /// with "text" is no picture.
  @discardableResult
  func makeThumbnails() throws -> Int {
    var count = 0
    while let photo = fileSystem.nextPhoto() {
      guard let content = content(of: photo) else {
        fileSystem.fail(photo, reason: .internal)
        continue
      }
      if content.starts(with: Array("text".utf8)) {
        fileSystem.fail(photo, reason: .notAPicture)
      } else {
        let facts = PictureFacts(dimensions: PictureDimensions(width: 1, height: 1))
        try fileSystem.finish(
          photo, thumbnail: Array("thumbnail of ".utf8) + content, facts: facts)
        count += 1
      }
    }
    return count
  }

  func content(of photo: PhotoVersion) -> [UInt8]? {
    guard let size = fileSystem.photoSize(photo) else { return nil }
    return unsafe withHeadroom(Int(size)) {
      try? unsafe fileSystem.readPhoto(photo, into: $0, at: 0)
    }
  }
}

extension OpenFile {
  func put(_ bytes: [UInt8], at offset: Int64) throws(FSError) {
    var failure: FSError?
    unsafe bytes.withUnsafeBytes { buffer in
      do throws(FSError) { try unsafe write(buffer, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  func get(_ count: Int, at offset: Int64) throws(FSError) -> [UInt8] {
    try unsafe withHeadroom(count) { (buffer) throws(FSError) in
      try unsafe read(into: buffer, at: offset)
    } ?? []
  }
}

extension Result where Failure == any Error {
  /// The reason of the failure, as the file system's code.
  var refusal: FSError.Code? {
    if case .failure(let error) = self { (error as? FSError)?.code } else { nil }
  }
}

/// Returns why a call is refused; nil if it succeeds.
func refusal<T>(_ body: () throws -> T) -> FSError.Code? { Result { try body() }.refusal }
