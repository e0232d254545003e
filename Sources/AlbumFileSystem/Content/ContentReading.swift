import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

extension FileContent {
  /// The sources of the bytes of a read, collected under the lock.
  private struct Plan {
    var count: Int
    /// Sorted. Bytes in no extent and no layer are zero.
    var extents: [Extent]
    /// Bytes that are only in memory, the newest last.
    var layers: [(chunk: ChunkBuffer, range: Range<Int>)]
  }

  /// Reads until the buffer is full or the file ends. `ReadHeadroom.byteCount` bytes before the buffer must
  /// be writable and are restored.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FSError) -> Int {
    if offset < 0 { throw FSError(.invalid) }
    var plan = monitor.withLock { state in makePlan(state, offset, buffer.count) }
    while plan.count > 0 {
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<plan.count])
      do throws(StoreError) {
        try unsafe space.fill(target, at: offset, from: plan.extents)
        unsafe copyLayers(of: plan, into: target, from: offset)
        return plan.count
      } catch {
        let newPlan = monitor.withLock { state in makePlan(state, offset, buffer.count) }
        if !error.isOfMovedContent || newPlan.extents == plan.extents { throw FSError(error) }
        plan = newPlan
      }
    }
    return 0
  }

  private func copyLayers(
    of plan: Plan, into target: UnsafeMutableRawBufferPointer, from offset: Int64
  ) {
    if plan.layers.isEmpty { return }
    monitor.withLock { _ in
      for layer in plan.layers {
        unsafe layer.chunk.copy(layer.range, into: target, from: offset)
      }
    }
  }

  private func makePlan(_ state: borrowing State, _ offset: Int64, _ wanted: Int) -> Plan {
    if offset >= state.size { return Plan(count: 0, extents: [], layers: []) }
    let count = Int(min(Int64(wanted), state.size - offset))
    let end = offset + Int64(count)
    let stated = space.extents(from: offset, to: end) { _ in index } ?? []
    var plan = Plan(count: count, extents: stated, layers: [])
    for chunk in state.inFlight.map(\.chunk) + state.dirty.chunks
    where chunk.offset < end && chunk.end > offset {
      plan.layers.append((chunk, chunk.range))
    }
    if state.pending.isEmpty && plan.layers.isEmpty { return plan }
    var map = ExtentMap(stated)
    for extent in state.pending.overlapping(from: offset, to: end) {
      map.replace(from: extent.offset, to: extent.end, with: [extent])
    }
    // Bytes in memory need not be read.
    for layer in plan.layers {
      map.replace(from: max(offset, layer.chunk.offset), to: min(end, layer.chunk.end), with: [])
    }
    plan.extents = map.extents
    return plan
  }
}

extension StoreError {
  /// True if the content may have been moved, and its segment removed, between the look-up of the extents
  /// and the read. If the extents have changed, the caller reads again. Otherwise it is damage.
  var isOfMovedContent: Bool { code == .missing || code == .damaged }
}

extension Space {
  /// The extents of a file's content in [from, to), looked up in slices; nil if `find` does not find the
  /// file any more. They are of one moment if the content does not change meanwhile: the caller holds the
  /// content's lock, or finds the file by the version of its content.
  func extents(
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
  func fill(
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
