import AlbumFormat
import AlbumModel
import AlbumSecrets

/// Writes items into the records and segments of one checkpoint. Not thread-safe.
struct CheckpointWriter {
  private let files: SegmentFiles
  private let nextSegment: () -> SegmentNumber
  private var writer: SegmentWriter?
  private(set) var reference = CheckpointReference()
  private var place: UInt32 = 0
  private let spendsReserve: Bool
  /// The segments that were begun, in order.
  private(set) var segments: [SegmentID] = []

  /// `nextSegment` returns consecutive numbers. If another caller took one in between, `isContiguous` is
  /// false.
  init(
    files: SegmentFiles, spendsReserve: Bool = false, nextSegment: @escaping () -> SegmentNumber
  ) {
    self.spendsReserve = spendsReserve
    self.files = files
    self.nextSegment = nextSegment
  }

  /// Adds whole items: as many records as they need.
  mutating func append(_ items: [UInt8], isLast: Bool = false) throws(StoreError) {
    var start = 0
    repeat {
      let end = min(start + CheckpointRecord.itemByteLimit, items.count)
      try append(
        Array(items[start..<end]),
        end < items.count ? .continues : isLast ? .last : .none)
      start = end
    } while start < items.count
  }

  private mutating func append(
    _ items: [UInt8], _ continuation: CheckpointRecord.Continuation
  ) throws(StoreError) {
    if writer == nil { begin() }
    while true {
      let record = CheckpointRecord(
        checkpoint: reference.firstSegment, place: place, continuation: continuation, items: items)
      if seal(record.encoded()) { break }
      try writer?.finish()
      begin()
    }
    place += 1
  }

  private mutating func begin() {
    let number = nextSegment()
    if reference.segmentCount == 0 { reference.firstSegment = number }
    reference.segmentCount += 1
    let id = SegmentID(kind: .checkpoint, number: number)
    reference.birth = files.bear(id)
    segments.append(id)
    writer = SegmentWriter(id, files: files, spendsReserve: spendsReserve)
  }

  /// True if its numbers are consecutive, as a reference requires.
  var isContiguous: Bool { segments.allSatisfy { reference.includes($0.number) } }

  private func seal(_ plaintext: [UInt8]) -> Bool {
    writer?.append(plaintext, kind: .checkpoint) != nil
  }

  /// Writes out the last segment.
  mutating func finish() throws(StoreError) {
    try writer?.finish()
    writer = nil
  }
}

/// Reads a checkpoint into a catalog.
enum CheckpointReader {
  /// Applies every item; returns true if the checkpoint was complete and decrypted.
  static func load(
    _ reference: CheckpointReference, files: SegmentFiles, into catalog: inout Catalog
  ) throws(StoreError) -> Bool {
    try read(reference, files: files) { catalog.apply($0) }
  }

  /// Calls `body` with every item; returns true if the checkpoint was complete and decrypted.
  static func read(
    _ reference: CheckpointReference, files: SegmentFiles, _ body: (JournalItem) -> Void
  ) throws(StoreError) -> Bool {
    var place: UInt32 = 0
    var pending: [UInt8] = []
    var isComplete = false
    for step in 0..<reference.segmentCount {
      let number = SegmentNumber(reference.firstSegment.rawValue &+ step)
      let id = SegmentID(kind: .checkpoint, number: number)
      files.use(id, reference.birth)
      guard let image = try files.contents(id) else { return false }
      var walk = SegmentWalk(image, name: files.name(id), cipher: files.keys.cipher)
      while let found = walk.next() {
        guard found.kind == .checkpoint else { continue }
        do throws(FormatError) {
          let record = try CheckpointRecord(decoding: found.plaintext)
          guard record.checkpoint == reference.firstSegment else { continue }
          if record.place != place { return false }
          place += 1
          pending += record.items
          if record.continuation == .continues { continue }
          try decodeItems(pending, body)
          pending = []
          isComplete = record.continuation == .last
        } catch {
          throw StoreError(.unsupportedFeature, "checkpoint: \(error)", path: files.path(id))
        }
      }
    }
    return isComplete
  }
}
