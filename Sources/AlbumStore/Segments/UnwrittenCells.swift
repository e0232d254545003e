import AlbumFormat
import AlbumModel
import AlbumSecrets

/// Tells what was not written yet when a file was read, or copied, from what was damaged since: a cell that
/// nothing was written to still holds the tail that its segment was born with.
struct UnwrittenCells {
  let image: SegmentImage
  let name: SegmentName
  let cipher: RecordCipher

  /// Whether the record at `offset` was not written, or only in part, when the file was read. False also
  /// where it is there.
  func isUnwritten(at offset: Int) -> Bool {
    // A file is born in its whole length: one that is shorter was cut.
    if offset + RecordLayout.grid > image.used { return false }
    if isTail(at: offset) { return true }
    guard let header = unsafe cipher.header(of: cell(at: offset)) else { return false }
    let end = offset + RecordLayout.paddedByteCount(plaintext: header.byteCount)
    if end > image.used { return false }
    return stride(from: offset + RecordLayout.grid, to: end, by: RecordLayout.grid).contains {
      isTail(at: $0)
    }
  }

  /// Whether any of the cells in a range is a part of the tail.
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
