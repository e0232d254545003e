import Hummingbird
import NIOCore

/// Splits the body of a request into the files that it has one behind the other. For one task.
struct BodyFiles {
  private var parts: RequestBody.AsyncIterator
  /// What has arrived and belongs to no file yet that was asked for.
  private var arrived = ByteBuffer()
  /// How many bytes of the current file are still to come.
  private var rest = 0

  init(_ body: RequestBody) { parts = body.makeAsyncIterator() }

  /// Goes to the next file, over whatever nobody took of the one before.
  mutating func next(size: Int64) async throws {
    while try await part() != nil {}
    rest = Int(size)
  }

  /// Returns the next bytes of the current file; nil at its end. Throws `invalid` where the body ends before
  /// it.
  mutating func part() async throws -> ByteBuffer? {
    if rest == 0 { return nil }
    while arrived.readableBytes == 0 {
      guard let part = try await parts.next() else {
        throw GalleryError(.invalid, "The body ends before the file does.")
      }
      arrived = part
    }
    let taken = arrived.readSlice(length: min(rest, arrived.readableBytes))
    rest -= taken?.readableBytes ?? 0
    return taken
  }

  /// Throws `large` where the body goes on behind the last file.
  mutating func end() async throws {
    while try await part() != nil {}
    while let part = arrived.readableBytes > 0 ? arrived : try await parts.next() {
      if part.readableBytes > 0 { throw GalleryError(.large) }
    }
  }
}
