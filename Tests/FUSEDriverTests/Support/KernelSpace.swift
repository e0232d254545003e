import AlbumFileSystem
import AlbumModel
import AlbumSecrets
import AlbumStore
import AlbumTestSupport
import Glibc
import Logging
import Posix

@testable import FUSEDriver

/// A space as the kernel sees it, through the driver, spoken to by paths. No device and no threads: a test
/// makes the kernel's requests.
// @unchecked because: `space` and `driver` are replaced by a remount only, by a test's one thread.
final class KernelSpace: @unchecked Sendable {
  static let me = KernelCaller(user: 1000, group: 1000, thread: 4201)

  private let directory = TemporaryDirectory()
  private let store: Store
  private let keys = SpaceKeys()
  let disk: FillableDirectory
  let inspector = FakeInspector()
  let clock = FakeClock()
  private(set) var space: Space
  private(set) var driver: Driver

  init() throws {
    disk = FillableDirectory(try PosixDirectory(path: directory.path))
    try disk.makeDirectory("segments")
    store = Store(directory: disk, segmentSize: 256 << 10)
    try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 1000, group: 1000))
    (space, driver) = try KernelSpace.mount(store, keys, inspector, clock)
  }

  private static func mount(
    _ store: Store, _ keys: SpaceKeys, _ inspector: FakeInspector, _ clock: FakeClock
  ) throws -> (Space, Driver) {
    var options = SpaceOpenOptions(logger: Logger(label: "test"))
    options.worksInBackground = false
    let space = try Space.open(store, keys: keys, options: options)
    let driver = Driver(
      fileSystem: FileSystem(space: space, clock: clock.clock), inspector: inspector,
      logger: Logger(label: "test"))
    driver.fileSystem.add(driver)
    driver.notifications.state.withLock { $0.isOpen = true }
    return (space, driver)
  }

  func remount() throws {
    driver.fileSystem.remove(driver)
    driver.inodes.forgetAll()
    if let error = driver.fileSystem.close() { throw error }
    try space.close()
    (space, driver) = try KernelSpace.mount(store, keys, inspector, clock)
  }

  /// The names that the kernel is to forget, so far.
  var notified: [String] {
    driver.notifications.state.withLock { $0.names.map(\.name.display).sorted() }
  }

  // MARK: Requests; what they return is given back at once

  func place(_ path: String) throws -> DirectoryPlace {
    var parts = path.split(separator: "/").map(String.init)
    let last = parts.removeLast()
    return DirectoryPlace(
      name: try FileName(last), parent: try number(parts.joined(separator: "/")))
  }

  func number(_ path: String) throws -> InodeNumber {
    try driver.fileSystem.resolve(path: Array(path.utf8))
  }

  /// Keeps the reference, which is to be given back by `forget`.
  func lookup(_ path: String) throws -> KernelEntry {
    let place = try place(path)
    return try driver.lookup(place.name, in: place.parent, for: KernelSpace.me)
  }

  func forget(_ entry: KernelEntry) { driver.inodes.forget(entry.attributes.inode, count: 1) }

  /// True where a lookup finds the name.
  func sees(_ path: String) throws -> Bool {
    do {
      forget(try lookup(path))
      return true
    } catch let error as FSError where error.code == .notFound {
      return false
    }
  }

  @discardableResult
  func mkdir(_ path: String, mode: UInt32 = 0o755) throws -> KernelEntry {
    let place = try place(path)
    let entry = try driver.makeDirectory(
      place.name, in: place.parent, mode: mode, for: KernelSpace.me)
    forget(entry)
    return entry
  }

  func create(_ path: String) throws -> OpenFile {
    let place = try place(path)
    let (entry, file) = try driver.create(
      place.name, in: place.parent, mode: 0o644, flags: O_RDWR, for: KernelSpace.me)
    forget(entry)
    return file
  }

  func write(_ text: String, to path: String) throws {
    let file =
      if let inode = try? number(path) {
        try driver.open(inode, flags: O_RDWR | O_TRUNC, for: KernelSpace.me)
      } else {
        try create(path)
      }
    defer { file.release() }
    try file.put(Array(text.utf8), at: 0)
    try file.flush()
  }

  func text(_ path: String) throws -> String {
    let file = try driver.open(number(path), flags: O_RDONLY, for: KernelSpace.me)
    defer { file.release() }
    let size = Int(try driver.fileSystem.attributes(of: file.inode).size)
    let bytes = try unsafe withHeadroom(size) { (buffer) throws(FSError) in
      try unsafe file.read(into: buffer, at: 0)
    }
    return String(decoding: bytes ?? [], as: UTF8.self)
  }

  func link(_ path: String, _ newPath: String) throws {
    let place = try place(newPath)
    _ = try driver.fileSystem.link(
      number(path), as: place.name, in: place.parent, for: driver.asking(KernelSpace.me))
  }

  func rename(_ path: String, _ newPath: String, noReplace: Bool = false) throws {
    try driver.rename(
      place(path), to: place(newPath), flags: noReplace ? 1 : 0, for: KernelSpace.me)
  }

  func unlink(_ path: String) throws {
    let place = try place(path)
    try driver.fileSystem.unlink(
      place.name, in: place.parent, for: driver.asking(KernelSpace.me))
  }

  func rmdir(_ path: String) throws {
    let place = try place(path)
    try driver.fileSystem.removeDirectory(
      place.name, in: place.parent, for: driver.asking(KernelSpace.me))
  }

  func list(_ path: String) throws -> [String] {
    let directory = try driver.openDirectory(number(path), for: KernelSpace.me)
    var names: [String] = []
    try directory.list(from: 2) { entry in
      names.append(entry.name.display)
      return true
    }
    return names.sorted()
  }

  /// True while the space has the inode, with a name or without.
  func has(_ inode: InodeNumber) -> Bool {
    (try? driver.fileSystem.attributes(of: inode)) != nil
  }

  /// The thumbnailer's work: a thumbnail is "thumbnail of " and the photo's content.
  func makeThumbnails() throws {
    let fileSystem = driver.fileSystem
    while let photo = fileSystem.nextPhoto() {
      let content = unsafe withHeadroom(Int(fileSystem.photoSize(photo) ?? 0)) {
        try? unsafe fileSystem.readPhoto(photo, into: $0, at: 0)
      }
      try fileSystem.finish(photo, thumbnail: Array("thumbnail of ".utf8) + (content ?? []))
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
}

/// Why a call is refused; nil when it is not.
func refusal(_ body: () throws -> Void) -> FSError.Code? {
  do { try body() } catch { return (error as? FSError)?.code }
  return nil
}
