import AlbumFormat
import AlbumModel

@testable import AlbumStore

/// A segment's sealed bytes: the walk ends, and records that decrypt have a known kind and lie within the
/// segment.
enum SealedRecordsTarget: FuzzTarget {
  static let name = FixedSpace.name(.data, 1)

  static func seeds() -> [[UInt8]] {
    var segment: [UInt8] = []
    for (kind, count) in [(RecordKind.data, 41), (.frame, 0), (.checkpoint, 700)] {
      segment += FixedSpace.sealed(
        [UInt8](repeating: 9, count: count), kind, in: name, at: segment.count)
    }
    return [segment, Array(segment.prefix(256))]
  }

  static func run(_ bytes: [UInt8]) {
    var end = 0
    FixedSpace.walk(bytes, name) { record in
      require(record.offset >= end && record.end > record.offset, "records do not overlap")
      require(record.plaintext.count <= RecordLayout.maximumPlaintext, "records are bounded")
      end = record.end
    }
  }
}

/// The head of a data record, in clear.
enum DataRecordTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] { [plaintext(content: 10, offset: 65_536)] }

  static func plaintext(content: Int, offset: Int64, inode: UInt64 = 2) -> [UInt8] {
    var bytes = [UInt8](repeating: 5, count: DataRecord.headerByteCount + content)
    let record = DataRecord(
      inode: InodeNumber(inode), offset: offset, length: UInt32(content), sequence: 7,
      fileLength: offset + Int64(content))
    unsafe bytes.withUnsafeMutableBytes { unsafe record.encode(into: $0) }
    return bytes
  }

  static func run(_ bytes: [UInt8]) {
    let decoded = unsafe bytes.withUnsafeBytes {
      unsafe DataRecord(decoding: $0, plaintextByteCount: bytes.count)
    }
    guard let record = decoded else { return }
    require(record.length > 0, "a data record has content")
    require(
      record.offset >= 0 && record.offset <= .max - Int64(record.length),
      "content lies where a file can be")
    require(record.fileLength >= 0, "a file has a length")
    var again = bytes
    unsafe again.withUnsafeMutableBytes { unsafe record.encode(into: $0) }
    require(again[0..<20] == bytes[0..<20], "what was decoded encodes to the same")
  }
}
