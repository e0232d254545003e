import AlbumFormat
import AlbumStore

/// A chunk on its way from memory into a segment. Its memory stays readable until its extent is in
/// `FileContent`'s pending ones; sealing does not change it.
final class Handover: @unchecked Sendable {  // `outcome` is only touched under the content's lock
  enum Outcome {
    case sealing
    case sealed([Extent])
    /// Kept, and tried again before anything else is taken over.
    case failed(StoreError)
  }

  let chunk: ChunkBuffer
  /// The file's length when the chunk was handed over, for the record.
  let fileLength: Int64
  /// Rises in the order in which chunks of a file were handed over.
  let ticket: UInt64
  var outcome = Outcome.sealing

  init(_ chunk: ChunkBuffer, fileLength: Int64, ticket: UInt64) {
    self.chunk = chunk
    self.fileLength = fileLength
    self.ticket = ticket
  }
}
