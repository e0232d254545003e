import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

// Reading content back: each record decrypts, or the read throws.

extension ContentStore {
  /// Reads the whole of an extent, see `Space.read`.
  func read(_ extent: Extent, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) {
    var origin = RecordOrigin()
    try unsafe read(extent, into: buffer, noting: &origin)
  }

  /// The same; also collects in `origin` the headers of the records.
  func read(
    _ extent: Extent, into buffer: UnsafeMutableRawBufferPointer, noting origin: inout RecordOrigin
  ) throws(StoreError) {
    precondition(Int64(buffer.count) == extent.length)
    let limit = Int64(ContentStore.recordsPerRead - 1) * DataRecord.contentLimit
    var position: Int64 = 0
    while position < extent.length {
      let part = extent.clipped(
        from: extent.offset + position, to: extent.offset + min(position + limit, extent.length))
      let target = unsafe UnsafeMutableRawBufferPointer(
        rebasing: buffer[Int(position)..<Int(position + part.length)])
      try unsafe readPart(part, into: target, noting: &origin)
      position += part.length
    }
  }

  /// Begins to load the records of an extent, where they are not in memory.
  func loadAhead(_ extent: Extent) {
    guard let source = try? source(of: extent.segment), let file = source.file else { return }
    let base = Int64(extent.grid) * Int64(RecordLayout.grid)
    let records = (Int64(extent.skip) + extent.length - 1) / DataRecord.contentLimit + 1
    file.loadAhead(base..<base + records * Int64(ContentStore.recordStride))
  }

  /// One reply of a server may be wrong, so what does not decrypt is read twice.
  private func readPart(
    _ extent: Extent, into buffer: UnsafeMutableRawBufferPointer, noting origin: inout RecordOrigin
  ) throws(StoreError) {
    let before = origin
    do throws(StoreError) {
      return try unsafe readPartOnce(extent, into: buffer, noting: &origin)
    } catch {
      guard error.code == .damaged, files.directory.isReadFromServer, let path = error.path else {
        throw error
      }
      files.directory.forgetContents(of: path)
    }
    origin = before
    try unsafe readPartOnce(extent, into: buffer, noting: &origin)
  }

  private func readPartOnce(
    _ extent: Extent, into buffer: UnsafeMutableRawBufferPointer, noting origin: inout RecordOrigin
  ) throws(StoreError) {
    let source = try source(of: extent.segment)
    let into = Int64(extent.skip) + extent.length
    let last = Int((into - 1) / DataRecord.contentLimit)
    let lastContent = Int(into - Int64(last) * DataRecord.contentLimit)
    let wanted =
      last * ContentStore.recordStride
      + RecordLayout.sealedByteCount(plaintext: DataRecord.headerByteCount + lastContent)
    let base = Int(extent.grid) * RecordLayout.grid
    let image = scratch.take()
    defer { scratch.give(image) }
    let sealed = unsafe UnsafeMutableRawBufferPointer(rebasing: image.bytes[..<wanted])
    try unsafe source.read(into: sealed, at: base)
    var done = 0
    for record in 0...last {
      let start = record * ContentStore.recordStride
      let skip = record == 0 ? Int(extent.skip) : 0
      let count = min(Int(DataRecord.contentLimit) - skip, buffer.count - done)
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
      origin.include(
        try unsafe open(
          image, start, available: wanted - start, base + start, source, skip: skip, into: target))
      done += count
    }
  }

  /// Decrypts the record at `start` of the scratch image (`offset` in its segment) and copies the content
  /// from `skip` on.
  private func open(
    _ image: SegmentImage, _ start: Int, available: Int, _ offset: Int, _ source: Source,
    skip: Int, into target: UnsafeMutableRawBufferPointer
  ) throws(StoreError) -> DataRecord {
    let cipher = files.keys.cipher
    let front = unsafe UnsafeRawBufferPointer(rebasing: image.bytes[start..<start + available])
    guard let (kind, byteCount) = unsafe cipher.header(of: front), kind == .data,
      byteCount >= DataRecord.headerByteCount + skip + target.count
    else { throw source.damaged(offset) }
    let length = RecordLayout.sealedByteCount(plaintext: byteCount)
    if length > available {
      // The extent ends within this record, which continues after the bytes that were read.
      guard start + length <= image.byteCount else { throw source.damaged(offset) }
      let rest = unsafe UnsafeMutableRawBufferPointer(
        rebasing: image.bytes[(start + available)..<(start + length)])
      try unsafe source.read(into: rest, at: offset + available)
    }
    let sealed = unsafe UnsafeMutableRawBufferPointer(
      rebasing: image.bytes[start..<start + length])
    let isWhole = byteCount == DataRecord.headerByteCount + target.count
    let header =
      unsafe isWhole
      ? openInPlace(sealed, byteCount, source.name, offset, target)
      : openWithin(sealed, byteCount, source.name, offset, skip, target)
    guard let header else { throw source.damaged(offset) }
    return header
  }

  /// For the whole content of a record: decrypts it at its destination. Its header lands on the 40 bytes
  /// before, which are restored afterwards.
  private func openInPlace(
    _ sealed: UnsafeMutableRawBufferPointer, _ byteCount: Int, _ name: SegmentName, _ offset: Int,
    _ target: UnsafeMutableRawBufferPointer
  ) -> DataRecord? {
    let header = DataRecord.headerByteCount
    let start = unsafe target.baseAddress! - header
    return unsafe withUnsafeTemporaryAllocation(
      byteCount: header, alignment: 8
    ) { saved in
      unsafe saved.baseAddress!.copyMemory(from: start, byteCount: header)
      defer { unsafe start.copyMemory(from: saved.baseAddress!, byteCount: header) }
      let plaintext = unsafe UnsafeMutableRawBufferPointer(start: start, count: byteCount)
      guard
        unsafe files.keys.cipher.open(
          UnsafeRawBufferPointer(sealed), kind: .data, byteCount: byteCount, segment: name,
          offset: Int64(offset), into: plaintext)
      else { return nil }
      return unsafe DataRecord(
        decoding: UnsafeRawBufferPointer(rebasing: plaintext[..<header]),
        plaintextByteCount: byteCount)
    }
  }

  /// For a part of a record: decrypts it at its place, copies the part and wipes the rest.
  private func openWithin(
    _ sealed: UnsafeMutableRawBufferPointer, _ byteCount: Int, _ name: SegmentName, _ offset: Int,
    _ skip: Int, _ target: UnsafeMutableRawBufferPointer
  ) -> DataRecord? {
    let start = RecordLayout.ciphertextOffset
    let plaintext = unsafe UnsafeMutableRawBufferPointer(
      rebasing: sealed[start..<start + byteCount])
    defer { unsafe erase(plaintext) }
    guard
      unsafe files.keys.cipher.open(
        UnsafeRawBufferPointer(sealed), kind: .data, byteCount: byteCount, segment: name,
        offset: Int64(offset), into: plaintext),
      let header = unsafe DataRecord(
        decoding: UnsafeRawBufferPointer(plaintext), plaintextByteCount: byteCount)
    else { return nil }
    let from = DataRecord.headerByteCount + skip
    unsafe target.copyMemory(
      from: UnsafeRawBufferPointer(rebasing: plaintext[from..<from + target.count]))
    return header
  }

  /// True if all records of an extent decrypt. Throws if the disk returns an error.
  func decrypts(_ extent: Extent) throws(StoreError) -> Bool {
    let image = scratch.take()
    defer { scratch.give(image, wiping: image.byteCount) }
    let piece = ContentStore.recordsPerRead - 1
    var origin = RecordOrigin()
    var position = extent.offset
    while position < extent.end {
      let next = min(extent.end, position + Int64(piece) * DataRecord.contentLimit)
      let target = unsafe UnsafeMutableRawBufferPointer(
        rebasing: image.bytes[
          DataRecord.headerByteCount..<(DataRecord.headerByteCount + Int(next - position))])
      do throws(StoreError) {
        try unsafe readPart(
          extent.clipped(from: position, to: next), into: target, noting: &origin)
      } catch {
        if [.damaged, .missing, .misplaced].contains(error.code) { return false }
        throw error
      }
      position = next
    }
    return true
  }

  /// The same for recovery, to which an extent that the disk cannot read counts as whole, so that recovery
  /// continues: reading the file returns the error, and a check names the file.
  func decryptsOrIsUnreadable(_ extent: Extent) throws(StoreError) -> Bool {
    do throws(StoreError) { return try decrypts(extent) } catch {
      if error.code != .inputOutput { throw error }
      return true
    }
  }

  // MARK: Where a segment is

  /// The source of a segment's bytes: its image while it is being written, otherwise its file.
  private struct Source {
    let name: SegmentName
    let writer: SegmentWriter?
    let file: (any StorageFile)?

    var path: String { SegmentPath.path(of: name) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError) {
      var count = 0
      if let writer {
        count = unsafe writer.copy(at: offset, into: buffer)
      } else if let file {
        do throws(Errno) { count = try unsafe file.read(into: buffer, at: Int64(offset)) } catch {
          throw StoreError(reading: path, error)
        }
      }
      if count < buffer.count { throw damaged(offset) }
    }

    func damaged(_ offset: Int) -> StoreError {
      StoreError(
        .damaged,
        "a record at byte \(offset) of a segment does not decrypt: the file was changed, "
          + "cut short or damaged outside albumfs; restore it from a backup of the store",
        path: path)
    }
  }

  private func source(of number: SegmentNumber) throws(StoreError) -> Source {
    if number == Extent.lostSegment {
      throw StoreError(
        .damaged,
        "the part of the journal that recorded this part of the file is damaged; "
          + "restore the file from a backup, or write it anew")
    }
    let id = SegmentID(kind: .data, number: number)
    let name = files.name(id)
    if let writer = tail.withLock({ $0.open[number] ?? $0.givenUp[number] }) {
      return Source(name: name, writer: writer, file: nil)
    }
    return Source(name: name, writer: nil, file: try files.open(id))
  }
}

/// The header values of the newest of some records. A copy of their content carries these values, so that it
/// never looks newer than the original.
struct RecordOrigin {
  private(set) var sequence: UInt64 = 0
  private(set) var fileLength: Int64 = 0

  mutating func include(_ header: DataRecord) {
    if header.sequence < sequence { return }
    sequence = header.sequence
    fileLength = header.fileLength
  }
}
