import AlbumFormat
import AlbumModel
import AlbumSecrets

/// Distinguishes cells that were not written yet when a file was read or copied from damaged ones: an
/// unwritten cell still holds the tail that its segment started with.
struct UnwrittenCells {
  let image: SegmentImage
  let name: SegmentName
  let cipher: RecordCipher

  /// True if the record at `offset` was unwritten, or written only in part, when the file was read. False
  /// also if it is complete.
  func isUnwritten(at offset: Int) -> Bool {
    // A file starts with its whole length, so a shorter one was truncated.
    if offset + RecordLayout.grid > image.used { return false }
    if isTail(at: offset) { return true }
    guard let header = unsafe cipher.header(of: cell(at: offset)) else { return false }
    let end = offset + RecordLayout.paddedByteCount(plaintext: header.byteCount)
    if end > image.used { return false }
    return stride(from: offset + RecordLayout.grid, to: end, by: RecordLayout.grid).contains {
      isTail(at: $0)
    }
  }

  /// True if any cell in the range is unwritten.
  func hasTail(in range: Range<Int>) -> Bool {
    stride(from: range.lowerBound, to: range.upperBound, by: RecordLayout.grid).contains {
      $0 + RecordLayout.grid <= image.used && isTail(at: $0)
    }
  }

  private func isTail(at offset: Int) -> Bool {
    unsafe cipher.isTail(cell(at: offset), of: name, at: offset)
  }

  private func cell(at offset: Int) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(
      rebasing: image.bytes[offset..<offset + RecordLayout.grid])
  }
}
