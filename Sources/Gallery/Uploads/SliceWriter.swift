import NIOCore
import Posix

/// Writes a slice to a file in pieces of a mebibyte. While one is written, the next arrives.
struct SliceWriter {
  private let file: FolderFile
  private let limit: Int64
  private let work: BlockingBridge
  private var pending: [UInt8] = []
  /// The piece that is being written; returns its size.
  private var writing: Task<Int, any Error>?
  /// How far the bytes that arrived reach.
  private var arrived: Int64
  /// How far the file is.
  private(set) var end: Int64
  private static let pieceSize = 1 << 20

  init(_ file: FolderFile, from offset: Int64, atMost room: Int64, _ work: BlockingBridge) {
    self.file = file
    self.work = work
    arrived = offset
    end = offset
    limit = offset + room
  }

  /// Throws `large` for more than the slice may have, or the failure of an earlier piece. Call nothing but
  /// `finish` after that.
  mutating func append(_ part: ByteBuffer) async throws {
    if arrived + Int64(part.readableBytes) > limit { throw GalleryError(.large) }
    if pending.isEmpty {
      pending.reserveCapacity(
        Int(min(limit - arrived, Int64(SliceWriter.pieceSize + part.readableBytes))))
    }
    pending += part.readableBytesView
    arrived += Int64(part.readableBytes)
    if pending.count >= SliceWriter.pieceSize { try await writeOut() }
  }

  /// Writes the rest. Throws where the file may not have all that was written, as on a full disk.
  mutating func finish() async throws {
    try await writeOut()
    try await waitForPiece()
    try await work.run { [file] in try file.flush() }
  }

  private mutating func writeOut() async throws {
    try await waitForPiece()
    if pending.isEmpty { return }
    let (bytes, place) = (pending, end)
    pending = []
    writing = Task { [file, work] in
      try await work.run { try file.write(bytes, at: place) }
      return bytes.count
    }
  }

  private mutating func waitForPiece() async throws {
    guard let piece = writing else { return }
    writing = nil
    do { end += Int64(try await piece.value) } catch {
      // No later piece may follow one that is missing.
      pending = []
      throw error
    }
  }
}
