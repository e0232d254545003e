import NIOCore
import Posix

/// Writes a slice to a file in pieces of a mebibyte.
struct SliceWriter {
  private let file: FolderFile
  private let limit: Int64
  private let work: BlockingBridge
  private var pending: [UInt8] = []
  /// How far the file is.
  private(set) var end: Int64
  private static let pieceSize = 1 << 20

  init(_ file: FolderFile, from offset: Int64, atMost room: Int64, _ work: BlockingBridge) {
    self.file = file
    self.work = work
    end = offset
    limit = offset + room
  }

  /// Throws `large` for more than the slice may have.
  mutating func append(_ part: ByteBuffer) async throws {
    if end + Int64(pending.count + part.readableBytes) > limit { throw GalleryError(.large) }
    if pending.isEmpty {
      pending.reserveCapacity(
        Int(min(limit - end, Int64(SliceWriter.pieceSize + part.readableBytes))))
    }
    pending += part.readableBytesView
    if pending.count >= SliceWriter.pieceSize { try await writeOut() }
  }

  /// Writes the rest. Throws where the file may not have all that was written, as on a full disk.
  mutating func finish() async throws {
    try await writeOut()
    try await work.run { [file] in try file.flush() }
  }

  private mutating func writeOut() async throws {
    if pending.isEmpty { return }
    let (bytes, place) = (pending, end)
    pending = []
    try await work.run { [file] in try file.write(bytes, at: place) }
    end += Int64(bytes.count)
  }
}
