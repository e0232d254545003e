import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// A segment that gets no more writes, except its seal.
struct EndedSegment: Sendable {
  let file: any StorageFile
  let seal: SegmentSeal
  /// The checksum of all its bytes.
  let checksum: SegmentChecksum
  /// The first 8 bytes of the random cell that the seal replaces.
  let firstWord: UInt64

  /// Writes the seal. If that fails, the segment stays without one.
  func seal(_ name: SegmentName, _ cipher: RecordCipher) {
    let cell = SegmentImage(byteCount: SegmentSeal.reservedByteCount)
    unsafe RandomFill.fill(cell.bytes)
    unsafe seal.encoded().withUnsafeBytes {
      unsafe cipher.seal($0, kind: .seal, segment: name, offset: 0, into: cell.bytes)
    }
    var checksum = checksum
    checksum.add(firstWord)
    unsafe checksum.add(UnsafeRawBufferPointer(cell.bytes))
    do throws(Errno) {
      try unsafe file.write(UnsafeRawBufferPointer(cell.bytes), at: 0)
      try file.setModificationTime(checksum.time)
    } catch {
      return
    }
  }
}

extension SegmentSeal {
  /// Reads the seal at the start of an image; nil if there is none.
  init?(in image: SegmentImage, of name: SegmentName, _ cipher: RecordCipher) {
    if image.used < SegmentSeal.reservedByteCount { return nil }
    let cell = unsafe UnsafeRawBufferPointer(
      rebasing: image.bytes[..<SegmentSeal.reservedByteCount])
    guard let header = unsafe cipher.header(of: cell), header.kind == .seal,
      header.byteCount == SegmentSeal.byteCount
    else { return nil }
    var isGenuine = false
    let plaintext = unsafe [UInt8](unsafeUninitializedCapacity: header.byteCount) {
      buffer, initialized in
      isGenuine = unsafe cipher.open(
        cell, kind: .seal, byteCount: header.byteCount, segment: name, offset: 0,
        into: UnsafeMutableRawBufferPointer(buffer))
      initialized = header.byteCount
    }
    guard isGenuine, let seal = try? SegmentSeal(decoding: plaintext) else { return nil }
    self = seal
  }
}
