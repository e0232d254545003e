package import AlbumModel

/// The content of a fence, decrypted: the plaintext of the record of kind `fence` at offset 256 of a segment
/// of kind `fence`. All other bytes of the segment are random, and it has no seal.
///
/// | bytes | what |
/// |---|---|
/// | 0..<8 | birth of the session that made the fence |
/// | 8..<16 | when it made it, in milliseconds of `StoreTime` |
/// | 16..<48 | births of the sessions that made the four fences before it, the newest first; 0: unknown |
/// | 48 | n, the length of the machine's name in bytes, at most 64 |
/// | 49..<49+n | the machine's name, UTF-8 |
///
/// Each session that writes makes one before anything else, with the number after the highest that exists.
/// All fences have birth 1, so two sessions that take the same number take the same name, and only one of
/// them can create the file. albumfs keeps the newest.
package struct FenceRecord: Equatable, Sendable {
  /// The birth in the name of every fence.
  package static let birthOfAll = SegmentBirth(1)
  /// The offset of the record.
  package static let offset = SegmentSeal.reservedByteCount
  package static let formerCount = 4
  package static let machineByteLimit = 64
  private static let fixedByteCount = 17 + 8 * formerCount

  package var session: SegmentBirth
  package var time: StoreTime
  /// The sessions of the fences before this one, the newest first; `.none` where that is unknown.
  package var former: [SegmentBirth]
  package var machine: String

  /// Takes the first `formerCount` of `former`. Cuts `machine` at a whole character.
  package init(session: SegmentBirth, time: StoreTime, former: [SegmentBirth], machine: String) {
    self.session = session
    self.time = time
    let unknown = [SegmentBirth](repeating: .none, count: FenceRecord.formerCount)
    self.former = Array((former + unknown).prefix(FenceRecord.formerCount))
    self.machine = machine
    while self.machine.utf8.count > FenceRecord.machineByteLimit { self.machine.removeLast() }
  }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter(reserving: FenceRecord.fixedByteCount + machine.utf8.count)
    writer.write(session.rawValue)
    writer.write(time.milliseconds)
    for birth in former { writer.write(birth.rawValue) }
    writer.write(UInt8(machine.utf8.count))
    writer.write(Array(machine.utf8))
    return writer.bytes
  }

  package init(decoding plaintext: [UInt8]) throws(FormatError) {
    var reader = ByteReader(plaintext)
    session = try reader.readBirth()
    time = try reader.readTime()
    former = []
    for _ in 0..<FenceRecord.formerCount { former.append(try reader.readBirth()) }
    let count: UInt8 = try reader.read()
    if count > FenceRecord.machineByteLimit { throw FormatError("name of \(count) bytes") }
    machine = String(decoding: try reader.read(count: Int(count)), as: UTF8.self)
    if !reader.isAtEnd { throw FormatError("fence of \(plaintext.count) bytes") }
  }
}
