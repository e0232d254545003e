internal import AlbumFormat
internal import AlbumModel

/// The place of one file's extents in the arena, and their sums.
struct ExtentBlock: BitwiseCopyable, Sendable {
  /// Sum of the lengths of all extents, in bytes.
  var byteCount: Int64 = 0
  /// The number of extents.
  var count: UInt32 = 0
  /// The start of the root: a run of extents if `height` is 0, otherwise a run of branches.
  var first: UInt32 = 0
  /// The number of used elements of the root.
  var used: UInt8 = 0
  /// Levels of branches above the leaves.
  var height: UInt8 = 0
}

/// A node of a tree, as its parent stores it.
struct Branch: BitwiseCopyable, Sendable {
  /// The start of the first extent below.
  var offset: Int64 = .max
  /// Sum of the lengths of all extents below.
  var byteCount: Int64 = 0
  /// The number of extents below.
  var count: UInt32 = 0
  /// The start of its elements.
  var first: UInt32 = 0
  /// The number of used elements.
  var used = 0
}

/// The extents of all files, in flat arenas. A file with few has them in one run of 1, 2, 4, … 32. A
/// file with more has a B+ tree: leaves are runs of 32 extents, inner nodes runs of 32 branches, so that
/// insertion and removal touch O(log n) nodes however many extents the file has. Not thread-safe.
///
/// A removal detaches whole subtrees in one step, because each branch has their sums. `takeDetached` returns
/// their extents later, as many at a time as the caller wants.
///
/// Invariants of a tree:
/// 1. All leaves have the same depth, and no node is empty.
/// 2. Extents are in order and do not overlap, and none continues the one before it.
/// 3. `offset`, `count` and `byteCount` of each branch are right for everything below it.
/// 4. A removal leaves no two neighbours below one node beside it that fit into three quarters of one node.
struct ExtentArena: ~Copyable, Sendable {
  /// Elements of a node.
  static let fanOut = 32
  static let mergeLimit = fanOut * 3 / 4

  var extents = FlatArena<Extent>()
  var branches = FlatArena<Branch>()
  /// Freed runs of extents by size class, linked through their first extent.
  private var freed = [UInt32](repeating: .max, count: sizeClass(fanOut) + 1)
  /// Freed inner nodes, linked through their first branch.
  var freedNodes: UInt32 = .max
  /// Subtrees that no file has any more.
  var detached: [(node: Branch, height: UInt8)] = []
  /// Counts the touched extents and nodes.
  let steps: StepCounter

  init(steps: StepCounter = StepCounter()) { self.steps = steps }

  // MARK: Looking

  func all(_ block: ExtentBlock) -> [Extent] {
    var result: [Extent] = []
    result.reserveCapacity(Int(block.count))
    forEach(block) { extent in
      result.append(extent)
      return true
    }
    return result
  }

  /// Calls `body` with the extents that end after `offset`, in order, until it returns false.
  func forEach(
    _ block: ExtentBlock, endingBehind offset: Int64 = .min, _ body: (Extent) -> Bool
  ) {
    _ = visit(ExtentArena.root(block), block.height, offset, body)
  }

  func first(_ block: ExtentBlock, endingBehind offset: Int64) -> Extent? {
    var found: Extent?
    forEach(block, endingBehind: offset) { extent in
      found = extent
      return false
    }
    return found
  }

  func last(_ block: ExtentBlock) -> Extent? {
    if block.count == 0 { return nil }
    var node = ExtentArena.root(block)
    for _ in 0..<block.height {
      steps.count()
      node = branches[node.first + UInt32(node.used - 1)]
    }
    return extents[node.first + UInt32(node.used - 1)]
  }

  func visit(
    _ node: Branch, _ height: UInt8, _ offset: Int64, _ body: (Extent) -> Bool
  ) -> Bool {
    steps.count()
    if height == 0 {
      for place in firstPlace(in: node, endingBehind: offset)..<node.used {
        steps.count()
        if !body(extents[node.first + UInt32(place)]) { return false }
      }
      return true
    }
    for place in child(of: node, at: offset)..<node.used {
      if !visit(branches[node.first + UInt32(place)], height - 1, offset, body) { return false }
    }
    return true
  }

  /// The first extent of a leaf that ends after `offset`.
  func firstPlace(in leaf: Branch, endingBehind offset: Int64) -> Int {
    partition(leaf.used) { extents[leaf.first + UInt32($0)].end > offset }
  }

  /// The first extent of a leaf that begins at `offset` or after it.
  func firstPlace(in leaf: Branch, from offset: Int64) -> Int {
    partition(leaf.used) { extents[leaf.first + UInt32($0)].offset >= offset }
  }

  /// The branch for an extent that begins at `offset`.
  func child(of node: Branch, at offset: Int64) -> Int {
    max(1, partition(node.used) { branches[node.first + UInt32($0)].offset > offset }) - 1
  }

  /// The first place below `count` where `isBehind` is true, and stays true; `count` if there is none.
  func partition(_ count: Int, _ isBehind: (Int) -> Bool) -> Int {
    (0..<count).partitioningIndex(where: isBehind)
  }

  // MARK: Changing

  /// Places the content in [from, to), which is not empty, into `new` (in order, within the range); the rest
  /// becomes a hole. Returns the replaced extents, or parts of such, that were not detached.
  mutating func replace(
    _ block: inout ExtentBlock, from: Int64, to: Int64, with new: [Extent]
  ) -> [Extent] {
    if block.height == 0 {
      if appendToRun(&block, from, new) { return [] }
      var map = ExtentMap(all(block))
      let dropped = map.replace(from: from, to: to, with: new)
      store(map.extents, in: &block)
      return dropped
    }
    var root = ExtentArena.root(block)
    var dropped: [Extent] = []
    var list: [Extent] = []
    for extent in new { ExtentMap.append(extent, to: &list) }
    // The extent that reaches into the range from before it, and the one that reaches out of it.
    if let old = first(block, endingBehind: from), old.offset < from {
      set(old.offset, to: old.clipped(from: old.offset, to: from), in: &root, block.height)
      dropped.append(old.clipped(from: from, to: min(old.end, to)))
      if old.end > to { ExtentMap.append(old.clipped(from: to, to: old.end), to: &list) }
    }
    if let old = first(block, endingBehind: to), from..<to ~= old.offset {
      set(old.offset, to: old.clipped(from: to, to: old.end), in: &root, block.height)
      dropped.append(old.clipped(from: old.offset, to: to))
    }
    remove(from: from, to: to, in: &root, block.height, end: .max, &dropped)
    finish(&block, root)
    insert(list, into: &block)
    return dropped
  }

  /// Removes all extents of a file. Returns those that were not detached.
  mutating func release(_ block: inout ExtentBlock) -> [Extent] {
    var dropped: [Extent] = []
    if block.height > 0 {
      detached.append((ExtentArena.root(block), block.height))
    } else if block.count > 0 {
      dropped = all(block)
      freeRun(block.first, ExtentArena.sizeClass(Int(block.used)))
    }
    block = ExtentBlock()
    return dropped
  }

  /// Takes about `limit` detached extents; none if nothing is left.
  mutating func takeDetached(limit: Int) -> [Extent] {
    var taken: [Extent] = []
    while taken.count < limit, let (node, height) = detached.popLast() {
      steps.count()
      if height == 0 {
        steps.count(node.used)
        taken += extents.slice(node.first, count: UInt32(node.used))
      } else {
        for branch in branches.slice(node.first, count: UInt32(node.used)) {
          detached.append((branch, height - 1))
        }
      }
      free(node, height)
    }
    return taken
  }

  // MARK: Runs

  static func sizeClass(_ count: Int) -> Int {
    count <= 1 ? 0 : Int.bitWidth - (count - 1).leadingZeroBitCount
  }

  static func root(_ block: ExtentBlock) -> Branch {
    Branch(
      offset: .min, byteCount: block.byteCount, count: block.count, first: block.first,
      used: Int(block.used))
  }

  /// For the usual case of appending: looks only at the last extent.
  private mutating func appendToRun(_ block: inout ExtentBlock, _ from: Int64, _ new: [Extent])
    -> Bool
  {
    var last = last(block)
    if let last, last.end > from { return false }
    if block.count + UInt32(new.count) > ExtentArena.fanOut { return false }
    for extent in new {
      if let before = last, before.isContinued(by: extent) {
        last = before.joined(with: extent)
        extents[block.first + block.count - 1] = before.joined(with: extent)
        block.byteCount += extent.length
      } else {
        last = extent
        resize(&block, to: block.count + 1)
        extents[block.first + block.count - 1] = extent
        block.byteCount += extent.length
      }
      steps.count()
    }
    return true
  }

  /// Moves the extents of a run to one with room for `count`.
  private mutating func resize(_ block: inout ExtentBlock, to count: UInt32) {
    let (old, new) = (ExtentArena.sizeClass(Int(block.used)), ExtentArena.sizeClass(Int(count)))
    if block.used == 0 {
      block.first = allocateRun(new)
    } else if old != new {
      let run = allocateRun(new)
      extents.move(block.first, to: run, count: min(block.count, count))
      freeRun(block.first, old)
      block.first = run
    }
    block.count = count
    block.used = UInt8(count)
  }

  /// Replaces the extents of a block that is a run.
  mutating func store(_ list: [Extent], in block: inout ExtentBlock) {
    steps.count(list.count)
    if list.isEmpty || list.count > ExtentArena.fanOut {
      if block.used > 0 { freeRun(block.first, ExtentArena.sizeClass(Int(block.used))) }
      block = list.isEmpty ? ExtentBlock() : build(list)
      return
    }
    resize(&block, to: UInt32(list.count))
    extents.replace(at: block.first, with: list)
    block.byteCount = list.reduce(0) { $0 + $1.length }
  }

  mutating func allocateRun(_ size: Int) -> UInt32 {
    let first = freed[size]
    if first != .max {
      freed[size] = extents[first].grid
      return first
    }
    let blank = Extent(offset: 0, length: 0, segment: SegmentNumber(0), grid: 0, skip: 0)
    return extents.append(blank, count: 1 << size)
  }

  mutating func freeRun(_ first: UInt32, _ size: Int) {
    extents[first].grid = freed[size]
    freed[size] = first
  }
}
