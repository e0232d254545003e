package import AlbumModel

/// The seal of a segment, decrypted: the plaintext of a record of kind `seal` at offset 0.
///
/// | bytes | what |
/// |---|---|
/// | 0..<8 | when the segment was finished, in milliseconds of `StoreTime` |
/// | 8 | 1: the segment was full, or nothing in it counts; 2: its session ended with an unmount |
/// | 9..<16 | zero |
///
/// albumfs writes the seal of a full journal segment when its successor is on disk, so the seal proves that
/// there was a successor.
///
/// The first 256 bytes of every segment are reserved for the seal. They are random until the segment is
/// complete and synced; only then albumfs writes the seal. Tools copy a file from its start, so what they
/// read after a seal is complete. albumfs writes a seal of kind 2 when the frames that record the end of its
/// session are on disk.
package struct SegmentSeal: Equatable, Sendable {
  package static let byteCount = 16
  /// Bytes at the start of each segment that hold only the seal.
  package static let reservedByteCount = RecordLayout.paddedByteCount(plaintext: byteCount)

  package enum Reason: UInt8, Sendable { case full = 1, endOfSession = 2 }

  package var time: StoreTime
  package var reason: Reason

  package init(time: StoreTime, reason: Reason) {
    self.time = time
    self.reason = reason
  }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter(reserving: SegmentSeal.byteCount)
    writer.write(time.milliseconds)
    writer.write(reason.rawValue)
    writer.write([0, 0, 0, 0, 0, 0, 0])
    return writer.bytes
  }

  package init(decoding plaintext: [UInt8]) throws(FormatError) {
    if plaintext.count != SegmentSeal.byteCount {
      throw FormatError("seal of \(plaintext.count) bytes")
    }
    var reader = ByteReader(plaintext)
    time = try reader.readTime()
    let reason: UInt8 = try reader.read()
    guard let known = Reason(rawValue: reason) else {
      throw FormatError("seal of unknown kind \(reason): written by a newer albumfs")
    }
    self.reason = known
  }
}
