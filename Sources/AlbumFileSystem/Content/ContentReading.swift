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
    /// True if a session that this one follows has removed the file.
    var isGone = false
  }

  /// Reads until the buffer is full or the file ends. `ReadHeadroom.byteCount` bytes before the buffer must
  /// be writable and are restored.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FSError) -> Int {
    if offset < 0 { throw FSError(.invalid) }
    var plan = monitor.withLock { state in makePlan(state, offset, buffer.count) }
    while plan.count > 0 {
      if plan.isGone { throw FSError(.stale, "another session removed the file") }
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
    let size = space.follows ? followedSize : state.size
    if offset >= size { return Plan(count: 0, extents: [], layers: []) }
    let count = Int(min(Int64(wanted), size - offset))
    let end = offset + Int64(count)
    guard let stated = space.extents(from: offset, to: end, of: { place(in: $0) }) else {
      return Plan(count: count, extents: [], layers: [], isGone: true)
    }
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

extension FileContent {
  /// Where the catalog has the file. One that follows another session may have it elsewhere than before, or
  /// not at all.
  private func place(in catalog: borrowing Catalog) -> InodeIndex? {
    space.follows ? catalog.index(of: inode) : index
  }

  /// At least a byte where the file is gone, so that a read says so.
  private var followedSize: Int64 {
    space.read { catalog in catalog.index(of: inode).map { catalog.state($0).size } } ?? .max
  }
}

extension StoreError {
  /// True if the content may have been moved, and its segment removed, between the look-up of the extents
  /// and the read. If the extents have changed, the caller reads again. Otherwise it is damage.
  var isOfMovedContent: Bool { code == .missing || code == .damaged }
}
