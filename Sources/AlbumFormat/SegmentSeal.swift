package import AlbumModel

/// The seal of a segment, in clear: the plaintext of a record of kind `seal` at offset 0.
///
/// | bytes | what |
/// |---|---|
/// | 0..<8 | when the segment was finished, in milliseconds of `StoreTime` |
/// | 8 | 1: the segment was full, or nothing in it counts; 2: its session ended by an unmount |
/// | 9..<16 | zero |
///
/// The seal of a full journal segment is written when its successor is on disk, and so proves that there
/// was one.
///
/// The first 256 bytes of every segment are kept for it. They are random until nothing more is written
/// to the segment and all of it was synced; only then the seal is written there. Tools that copy a file
/// read it from the beginning on, so what they read behind a seal is whole. A seal of kind 2 is written
/// when the frames that state the end of its session are on disk.
package struct SegmentSeal: Equatable, Sendable {
  package static let byteCount = 16
  /// Bytes at the beginning of each segment that hold nothing else.
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
