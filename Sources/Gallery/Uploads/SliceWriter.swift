import NIOCore
import Posix

/// Writes a slice to a file in pieces that end at each mebibyte of the file. While one is written, the next
/// arrives.
struct SliceWriter {
  private let file: FolderFile
  private let start: Int64
  private let limit: Int64
  private let work: BlockingBridge
  /// The bytes that arrived and that no write has taken.
  private var pending: PageBuffer?
  /// The piece that is being written.
  private var writing: Task<PageBuffer, any Error>?
  /// A buffer that was written.
  private var spare: PageBuffer?
  /// How far the bytes that arrived reach.
  private var arrived: Int64
  /// How far the file is.
  private(set) var end: Int64
  private static let pieceSize: Int64 = 1 << 20

  init(_ file: FolderFile, from offset: Int64, atMost room: Int64, _ work: BlockingBridge) {
    self.file = file
    self.work = work
    start = offset
    arrived = offset
    end = offset
    limit = offset + room
  }

  /// Throws `large` for more than the slice may have, or the failure of an earlier piece. Call nothing but
  /// `finish` after that.
  mutating func append(_ part: ByteBuffer) async throws {
    if arrived + Int64(part.readableBytes) > limit { throw GalleryError(.large) }
    var rest = part.readableBytesView[...]
    while !rest.isEmpty {
      let buffer = pending ?? freeBuffer()
      pending = buffer
      let untilBorder = SliceWriter.pieceSize - arrived % SliceWriter.pieceSize
      let taken = rest.prefix(Int(min(untilBorder, Int64(buffer.room))))
      buffer.append(taken)
      arrived += Int64(taken.count)
      rest = rest[taken.endIndex...]
      if arrived % SliceWriter.pieceSize == 0 || buffer.room == 0 { try await writeOut() }
    }
  }

  private mutating func freeBuffer() -> PageBuffer {
    defer { spare = nil }
    return spare ?? PageBuffer(capacity: Int(min(SliceWriter.pieceSize, limit - arrived)))
  }

  /// Writes the rest. Throws where the file may not have all that was written, as on a full disk; then
  /// nothing of the slice counts.
  mutating func finish() async throws {
    do {
      try await writeOut()
      try await waitForPiece()
      try await work.run { [file] in try file.flush() }
    } catch {
      end = start
      throw error
    }
  }

  private mutating func writeOut() async throws {
    try await waitForPiece()
    guard let piece = pending else { return }
    let place = end
    pending = nil
    writing = Task { [file, work] in
      try await work.run {
        try file.write(piece, at: place)
        return piece
      }
    }
  }

  private mutating func waitForPiece() async throws {
    guard let task = writing else { return }
    writing = nil
    do {
      let piece = try await task.value
      end += Int64(piece.count)
      piece.clear()
      spare = piece
    } catch {
      // No later piece may follow one that is missing.
      pending = nil
      throw error
    }
  }
}
