import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix

/// The files of a store at one instant, to be damaged. Copies share their bytes.
struct FrozenStore: Sendable, Equatable {
  struct File: Sendable, Equatable {
    var bytes: [UInt8]
    var modified: Int64
  }
  var files: [String: File] = [:]
  var directories: Set<String> = [""]
}

/// A disk in memory that begins as a frozen store with one change. Writes do not reach the frozen store.
/// Bytes can be flipped while a file is open.
final class DamagedDisk: StorageDirectory {
  final class File: Sendable {
    let content: Mutex<FrozenStore.File>
    init(_ file: FrozenStore.File) { content = Mutex(file, rank: .test) }
  }

  private struct State {
    var files: [String: File] = [:]
    var directories: Set<String> = [""]
    /// Reads of this file return an error.
    var unreadable: String?
  }
  private let state: Mutex<State>

  init(_ store: FrozenStore = FrozenStore()) {
    var state = State()
    for (path, file) in store.files { state.files[path] = File(file) }
    state.directories = store.directories
    self.state = Mutex(state, rank: .test)
  }

  /// Returns its current content.
  func frozen() -> FrozenStore {
    let (files, directories) = state.withLock { ($0.files, $0.directories) }
    return FrozenStore(
      files: files.mapValues { file in file.content.withLock { $0 } }, directories: directories)
  }

  // MARK: Damage

  func flip(_ path: String, _ offset: Int, _ mask: UInt8) {
    file(path)?.content.withLock { $0.bytes[offset] ^= mask }
  }

  /// Every read of the file fails from now on.
  func makeUnreadable(_ path: String) { state.withLock { $0.unreadable = path } }

  func bytes(_ path: String) -> [UInt8]? { file(path)?.content.withLock { $0.bytes } }

  private func file(_ path: String) -> File? { state.withLock { $0.files[path] } }

  // MARK: StorageDirectory

  func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    try state.withLock { (state) throws(Errno) -> OpenedFile in
      let isReadable = state.unreadable != path
      if let file = state.files[path] {
        if case .createNew = access { throw .exists }
        return OpenedFile(file, isReadable)
      }
      guard case .createNew = access, state.directories.contains(DamagedDisk.parent(path)) else {
        throw .noEntry
      }
      let file = File(FrozenStore.File(bytes: [], modified: SystemClock.wall().seconds))
      state.files[path] = file
      return OpenedFile(file, isReadable)
    }
  }

  func makeDirectory(_ path: String) throws(Errno) {
    let isNew = state.withLock { $0.directories.insert(path).inserted }
    if !isNew { throw .exists }
  }

  func rename(_ from: String, to: String) throws(Errno) {
    try state.withLock { (state) throws(Errno) in
      guard let file = state.files.removeValue(forKey: from) else { throw .noEntry }
      state.files[to] = file
    }
  }

  func remove(_ path: String) throws(Errno) {
    let file = state.withLock { $0.files.removeValue(forKey: path) }
    if file == nil { throw .noEntry }
  }

  func list(_ path: String) throws(Errno) -> [String] {
    try state.withLock { (state) throws(Errno) in
      guard state.directories.contains(path) else { throw .noEntry }
      let children = state.files.keys.filter { DamagedDisk.parent($0) == path }
      let folders = state.directories.filter { $0 != "" && DamagedDisk.parent($0) == path }
      return (children + folders).map { String($0.split(separator: "/").last!) }
    }
  }

  func syncDirectory(_ path: String) throws(Errno) {}

  func capacity() throws(Errno) -> StorageCapacity {
    StorageCapacity(
      blockSize: 4096, totalBytes: 1 << 40, freeBytes: 1 << 39, availableBytes: 1 << 39,
      totalFiles: 1 << 20, freeFiles: 1 << 20)
  }

  private static func parent(_ path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }

  private final class OpenedFile: StorageFile {
    private let file: File
    private let isReadable: Bool

    init(_ file: File, _ isReadable: Bool) {
      self.file = file
      self.isReadable = isReadable
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
      if !isReadable { throw .io }
      return file.content.withLock { content in
        let start = min(Int(offset), content.bytes.count)
        let count = min(buffer.count, content.bytes.count - start)
        unsafe content.bytes.withUnsafeBytes {
          unsafe buffer.copyMemory(
            from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
        }
        return count
      }
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
      file.content.withLock { content in
        let end = Int(offset) + buffer.count
        if end > content.bytes.count {
          content.bytes += [UInt8](repeating: 0, count: end - content.bytes.count)
        }
        unsafe content.bytes.withUnsafeMutableBytes {
          unsafe UnsafeMutableRawBufferPointer(rebasing: $0[Int(offset)..<end])
            .copyMemory(from: buffer)
        }
        content.modified = SystemClock.wall().seconds
      }
    }

    func sync() throws(Errno) {}
    func startWriteback() {}
    func size() throws(Errno) -> Int64 { Int64(file.content.withLock { $0.bytes.count }) }
    func modificationTime() throws(Errno) -> Timestamp {
      Timestamp(seconds: file.content.withLock { $0.modified })
    }
    func setModificationTime(_ time: Timestamp) throws(Errno) {
      file.content.withLock { $0.modified = time.seconds }
    }
    func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {}
    func unlock(offset: Int64, length: Int64) throws(Errno) {}
  }
}
