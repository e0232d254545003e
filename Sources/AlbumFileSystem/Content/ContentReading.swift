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
        readAhead(offset..<offset + Int64(plan.count))
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
  func place(in catalog: borrowing Catalog) -> InodeIndex? {
    space.follows ? catalog.index(of: inode) : index
  }

  /// At least a byte where the file is gone, so that a read says so.
  var followedSize: Int64 {
    space.read { catalog in catalog.index(of: inode).map { catalog.state($0).size } } ?? .max
  }
}

extension StoreError {
  /// True if the content may have been moved, and its segment removed, between the look-up of the extents
  /// and the read. If the extents have changed, the caller reads again. Otherwise it is damage.
  var isOfMovedContent: Bool { code == .missing || code == .damaged }
}

/// The content of a file as it was at a point. It reads what the catalog has, so that no byte that is still
/// pending shows. Any thread.
struct PastContent: Sendable {
  private let space: Space
  private let inode: InodeNumber
  private let point: InodeNumber

  init(_ space: Space, _ inode: InodeNumber, at point: InodeNumber) {
    self.space = space
    self.inode = inode
    self.point = point
  }

  /// Reads until the buffer is full or the file ends, as `FileContent.read`.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FSError) -> Int {
    if offset < 0 { throw FSError(.invalid) }
    var done = 0
    var failed: [Extent]?
    while done < buffer.count {
      let start = offset + Int64(done)
      let (extents, end) = try plan(from: start, to: offset + Int64(buffer.count))
      if end <= start { break }
      let target = unsafe UnsafeMutableRawBufferPointer(
        rebasing: buffer[done..<done + Int(end - start)])
      do throws(StoreError) {
        try unsafe space.fill(target, at: start, from: extents)
        (done, failed) = (done + target.count, nil)
      } catch {
        if !error.isOfMovedContent || failed == extents { throw FSError(error) }
        failed = extents
      }
    }
    return done
  }

  /// The places of some bytes, of one moment, and the end of these.
  private func plan(from start: Int64, to end: Int64) throws(FSError) -> ([Extent], Int64) {
    try space.read { (catalog: borrowing Catalog) throws(FSError) -> ([Extent], Int64) in
      let index = try version(in: catalog)
      let end = min(end, catalog.state(index).size)
      if end <= start { return ([], start) }
      let limit = Catalog.extentsPerSlice
      let found = catalog.extents(of: index, from: start, to: end, limit: limit)
      return (found, found.count == limit ? found.last!.end : end)
    }
  }

  /// lseek(2) with SEEK_DATA or SEEK_HOLE.
  func seek(to target: SeekTarget, from offset: Int64) throws(FSError) -> Int64 {
    var at = offset
    while true {
      let (extents, size) = try space.read {
        (catalog: borrowing Catalog) throws(FSError) -> ([Extent], Int64) in
        let index = try version(in: catalog)
        let size = catalog.state(index).size
        return (
          catalog.extents(of: index, from: at, to: size, limit: Catalog.extentsPerSlice), size
        )
      }
      if at == offset, offset < 0 || offset >= size { throw FSError(.noSuchOffset) }
      if target == .data {
        guard let first = extents.first else { throw FSError(.noSuchOffset) }
        return first.offset
      }
      for extent in extents {
        if extent.offset > at { return at }
        at = extent.end
      }
      if extents.count < Catalog.extentsPerSlice { return at }
    }
  }

  private func version(in catalog: borrowing Catalog) throws(FSError) -> InodeIndex {
    catalog.version(of: try InodeIndex(inode, at: point, in: catalog), at: point)
  }
}
