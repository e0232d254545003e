package import AlbumFormat
package import AlbumModel
import AlbumSecrets

/// The findings in one data segment.
package struct SegmentFindings: Sendable {
  package enum State: Sendable, Equatable {
    case whole
    case missing
    /// It has only this many bytes.
    case short(Int)
  }
  package struct Stretch: Sendable {
    package internal(set) var inode: InodeNumber
    package internal(set) var range: Range<Int64>
  }
  /// A record that no extent refers to.
  package struct Loose: Sendable {
    package internal(set) var record: DataRecord
    package internal(set) var segment: SegmentNumber
    package internal(set) var offset: Int
  }

  package let segment: SegmentNumber
  package internal(set) var state = State.whole
  /// True if the disk returned an error for a part of it.
  package internal(set) var hasReadErrors = false
  package internal(set) var damaged: [Stretch] = []
  package internal(set) var loose: [Loose] = []
  /// Write sequences by place in the segment, of records that extents refer to; only where the
  /// whole segment was walked.
  package internal(set) var sequences: [Int: UInt64] = [:]
  package internal(set) var recordCount = 0
  package internal(set) var byteCount: Int64 = 0
  var greatestSequence: UInt64 = 0
  package internal(set) var greatestInode: UInt64 = 0
}

/// Opens the records of one data segment: those that extents refer to, each once, or all that there
/// are.
struct SegmentInspection {
  private let name: SegmentName
  private let cipher: RecordCipher
  private let image: SegmentImage
  /// Takes the plaintext of one record.
  private let plaintext: SegmentImage
  private var records: [Int: DataRecord?] = [:]
  private var findings: SegmentFindings

  /// `plaintext` has `RecordLayout.maximumPlaintext` bytes, is clobbered, and is the caller's to
  /// wipe.
  init(
    _ segment: SegmentNumber, name: SegmentName, cipher: RecordCipher, image: SegmentImage,
    plaintext: SegmentImage
  ) {
    self.name = name
    self.cipher = cipher
    self.image = image
    self.plaintext = plaintext
    findings = SegmentFindings(segment: segment)
  }

  /// `uses` are those of this segment. With `walksAll`, the findings include records that nothing refers to.
  mutating func run(_ uses: ArraySlice<RecordUse>, walksAll: Bool) -> SegmentFindings {
    for use in uses { inspect(use) }
    if walksAll { walk() }
    return findings
  }

  private mutating func inspect(_ use: RecordUse) {
    for (place, offset) in use.offsets.enumerated() {
      let range = use.range(ofRecord: place)
      guard let record = record(at: offset),
        Int64(record.length) >= use.neededByteCount(ofRecord: place)
      else {
        findings.damaged.append(SegmentFindings.Stretch(inode: use.inode, range: range))
        continue
      }
    }
  }

  private mutating func record(at offset: Int) -> DataRecord? {
    if let known = records[offset] { return known }
    let record = open(at: offset)
    records[offset] = .some(record)
    if let record { count(record) }
    return record
  }

  private mutating func count(_ record: DataRecord) {
    findings.recordCount += 1
    findings.byteCount += Int64(record.length)
    findings.greatestSequence = max(findings.greatestSequence, record.sequence)
    findings.greatestInode = max(findings.greatestInode, record.inode.rawValue)
  }

  private func open(at offset: Int) -> DataRecord? {
    guard offset >= 0, offset + RecordLayout.overhead <= image.used else { return nil }
    let rest = unsafe UnsafeRawBufferPointer(rebasing: image.bytes[offset..<image.used])
    guard let (kind, count) = unsafe cipher.header(of: rest), kind == .data,
      RecordLayout.sealedByteCount(plaintext: count) <= rest.count,
      unsafe cipher.open(
        rest, kind: .data, byteCount: count, segment: name, offset: Int64(offset),
        into: plaintext.bytes)
    else { return nil }
    return unsafe DataRecord(
      decoding: UnsafeRawBufferPointer(rebasing: plaintext.bytes[..<count]),
      plaintextByteCount: count)
  }

  /// Every place of the grid where a record may begin.
  private mutating func walk() {
    for (offset, record) in records {
      if let record { findings.sequences[offset] = record.sequence }
    }
    var offset = 0
    while offset + RecordLayout.overhead <= image.used {
      let isReferred = records[offset] != nil
      guard let record = record(at: offset) else {
        offset += RecordLayout.grid
        continue
      }
      if !isReferred {
        findings.loose.append(
          SegmentFindings.Loose(record: record, segment: findings.segment, offset: offset))
      }
      offset += RecordLayout.paddedByteCount(
        plaintext: DataRecord.headerByteCount + Int(record.length))
    }
  }
}
