package import AlbumFormat
package import AlbumModel
import Posix

// The content of files: sealing it into records, and reading it back.

extension Space {
  /// See `RecordWriter.append`.
  package func append(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64, in lane: ContentLane = .files
  ) throws(StoreError) -> HeldExtents {
    countActivity()
    return try unsafe records.append(
      content, of: inode, at: offset, fileLength: fileLength, in: lane)
  }

  /// See `RecordWriter.appendPieces`.
  package func appendPieces(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64
  ) throws(StoreError) -> HeldExtents {
    countActivity()
    return try unsafe records.appendPieces(content, of: inode, at: offset, fileLength: fileLength)
  }

  /// See `RecordWriter.reserve`.
  package func reserve(_ byteCounts: [Int]) throws(StoreError) -> [RecordPlace] {
    countActivity()
    return try records.reserve(byteCounts)
  }

  /// See `RecordWriter.append`.
  package func append(
    _ content: UnsafeMutableRawBufferPointer, of inode: InodeNumber, at offset: Int64,
    fileLength: Int64, place: RecordPlace
  ) -> HeldExtents {
    unsafe records.append(content, of: inode, at: offset, fileLength: fileLength, place: place)
  }

  /// Reads the whole of `extent` (which the caller has clipped) into `buffer`, which has its length.
  /// `ReadHeadroom.byteCount` bytes before the buffer must be writable and are restored. Throws `.damaged` if
  /// a record does not decrypt: the buffer's content is then undefined and must not be shown. Waits at most
  /// `Outages.patience` for a store that does not respond.
  package func read(_ extent: Extent, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError)
  {
    countActivity()
    guard let outages = context.store.directory.outages else {
      return try unsafe context.content.read(extent, into: buffer)
    }
    try outages.hurriedly { () throws(StoreError) in
      try unsafe context.content.read(extent, into: buffer)
    }
  }

  /// True if content that is not in memory is a request to a server.
  package var readsFromServer: Bool { context.files.directory.isReadFromServer }

  /// Begins to load content that will be read. Does not wait.
  package func loadAhead(_ extents: [Extent]) {
    for extent in extents { context.content.loadAhead(extent) }
  }

  /// Reads all content of an extent.
  package func content(of extent: Extent) throws(StoreError) -> [UInt8] {
    let headroom = ReadHeadroom.byteCount
    let count = Int(extent.length)
    let buffer = SegmentImage(byteCount: headroom + count)
    defer { buffer.wipe() }
    let target = unsafe UnsafeMutableRawBufferPointer(
      rebasing: buffer.bytes[headroom..<headroom + count])
    try unsafe read(extent, into: target)
    return unsafe Array(target)
  }

  /// The extents of a file's content in [from, to), looked up in slices; nil if `find` does not find the
  /// file any more. They are of one moment if the content does not change meanwhile: the caller holds the
  /// content's lock, or finds the file by the version of its content.
  package func extents(
    from: Int64, to: Int64, of find: (borrowing Catalog) -> InodeIndex?
  ) -> [Extent]? {
    var extents: [Extent] = []
    var next = from
    while true {
      let slice = read { catalog in
        find(catalog).map {
          catalog.extents(of: $0, from: next, to: to, limit: Catalog.extentsPerSlice)
        }
      }
      guard let slice else { return nil }
      extents += slice
      guard slice.count == Catalog.extentsPerSlice, let last = slice.last else { return extents }
      next = last.end
    }
  }

  /// Fills a buffer with a file's content from `offset` on. `extents` lie within the buffer; the rest is
  /// holes.
  package func fill(
    _ buffer: UnsafeMutableRawBufferPointer, at offset: Int64, from extents: [Extent]
  ) throws(StoreError) {
    var filled = 0
    for extent in extents {
      let lower = Int(extent.offset - offset)
      let upper = Int(extent.end - offset)
      unsafe zero(buffer, filled..<lower)
      try unsafe read(
        extent, into: UnsafeMutableRawBufferPointer(rebasing: buffer[lower..<upper]))
      filled = upper
    }
    unsafe zero(buffer, filled..<buffer.count)
  }

  private func zero(_ buffer: UnsafeMutableRawBufferPointer, _ range: Range<Int>) {
    if range.isEmpty { return }
    unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[range])
      .initializeMemory(as: UInt8.self, repeating: 0)
  }
}

extension HeldExtents {
  /// Holds nothing yet.
  package init(in space: Space) { self.init(space.context.catalog) }
}
