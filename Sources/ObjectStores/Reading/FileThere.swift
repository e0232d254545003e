internal import AlbumModel
internal import Posix

/// A file in an object storage, which keeps no time of its content. Nobody locks it, and nobody writes to it
/// here.
protocol ObjectContent: StorageFile {}

extension ObjectContent {
  func modificationTime() throws(Errno) -> Timestamp { Timestamp(seconds: 0) }
  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) { throw .readOnly }
  func sync() throws(Errno) { throw .readOnly }
  func startWriteback() {}
  func setModificationTime(_ time: Timestamp) throws(Errno) { throw .readOnly }
  func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {}
  func unlock(offset: Int64, length: Int64) throws(Errno) {}
}

/// A file as it is there at each read, which is one request: only that shows whether there is such a file.
final class FileThere: ObjectContent {
  typealias Load = @Sendable (Range<Int64>) throws(Errno) -> LoadedObject?
  typealias Stat = @Sendable () throws(Errno) -> ObjectFacts?

  private let load: Load
  private let stat: Stat

  init(load: @escaping Load, stat: @escaping Stat) { (self.load, self.stat) = (load, stat) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
    let wanted = offset..<offset + Int64(buffer.count)
    if wanted.isEmpty { return 0 }
    guard let bytes = try load(wanted)?.bytes.prefix(buffer.count) else { throw .io }
    unsafe buffer.copyBytes(from: bytes)
    return bytes.count
  }

  func size() throws(Errno) -> Int64 {
    guard let facts = try stat() else { throw .noEntry }
    return facts.size
  }
}
