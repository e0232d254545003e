import AlbumFormat
import AlbumModel

// The trees of `ExtentArena`: nodes, and the operations from the root down. A call receives a node as its
// parent stores it and changes it; the caller writes it back.

extension ExtentArena {
  // MARK: Nodes

  mutating func allocate(_ height: UInt8) -> UInt32 {
    if height == 0 { return allocateRun(ExtentArena.sizeClass(ExtentArena.fanOut)) }
    let first = freedNodes
    if first != .max {
      freedNodes = branches[first].first
      return first
    }
    return branches.append(Branch(), count: UInt32(ExtentArena.fanOut))
  }

  mutating func free(_ node: Branch, _ height: UInt8) {
    if height == 0 { return freeRun(node.first, ExtentArena.sizeClass(ExtentArena.fanOut)) }
    branches[node.first].first = freedNodes
    freedNodes = node.first
  }

  /// Computes the sums of a node.
  mutating func measure(_ node: inout Branch, _ height: UInt8) {
    node.offset = .max
    node.count = 0
    node.byteCount = 0
    for place in node.first..<node.first + UInt32(node.used) {
      if height == 0 {
        node.offset = min(node.offset, extents[place].offset)
        node.count += 1
        node.byteCount += extents[place].length
      } else {
        node.offset = min(node.offset, branches[place].offset)
        node.count += branches[place].count
        node.byteCount += branches[place].byteCount
      }
    }
  }

  /// Moves `count` elements of one node to a place in another or the same.
  private mutating func move(
    _ count: Int, from node: Branch, _ place: Int, to other: Branch, _ otherPlace: Int,
    _ height: UInt8
  ) {
    let (source, target) = (node.first + UInt32(place), other.first + UInt32(otherPlace))
    if height == 0 {
      extents.move(source, to: target, count: UInt32(count))
    } else {
      branches.move(source, to: target, count: UInt32(count))
    }
  }

  /// Makes room for one more element.
  private mutating func open(_ place: Int, in node: inout Branch, _ height: UInt8) {
    move(node.used - place, from: node, place, to: node, place + 1, height)
    node.used += 1
  }

  /// Removes elements.
  private mutating func close(_ range: Range<Int>, in node: inout Branch, _ height: UInt8) {
    move(
      node.used - range.upperBound, from: node, range.upperBound, to: node, range.lowerBound,
      height)
    node.used -= range.count
  }

  /// Builds a tree of extents that do not fit into one run.
  mutating func build(_ list: [Extent]) -> ExtentBlock {
    var level: [Branch] = []
    for start in stride(from: 0, to: list.count, by: ExtentArena.fanOut) {
      let part = Array(list[start..<min(start + ExtentArena.fanOut, list.count)])
      var leaf = Branch(first: allocate(0), used: part.count)
      extents.replace(at: leaf.first, with: part)
      measure(&leaf, 0)
      level.append(leaf)
    }
    var height: UInt8 = 0
    while level.count > 1 {
      height += 1
      var above: [Branch] = []
      for start in stride(from: 0, to: level.count, by: ExtentArena.fanOut) {
        let part = Array(level[start..<min(start + ExtentArena.fanOut, level.count)])
        var node = Branch(first: allocate(height), used: part.count)
        branches.replace(at: node.first, with: part)
        measure(&node, height)
        above.append(node)
      }
      level = above
    }
    return ExtentArena.block(level[0], height)
  }

  private static func block(_ root: Branch, _ height: UInt8) -> ExtentBlock {
    ExtentBlock(
      byteCount: root.byteCount, count: root.count, first: root.first, used: UInt8(root.used),
      height: height)
  }

  /// Stores the root of a tree, which may have fewer levels now, or be a run.
  mutating func finish(_ block: inout ExtentBlock, _ changed: Branch) {
    var root = changed
    var height = block.height
    while height > 0, root.used <= 1 {
      let only = root.used == 1 ? branches[root.first] : nil
      free(root, height)
      guard let only else {
        block = ExtentBlock()
        return
      }
      root = only
      height -= 1
    }
    block = ExtentArena.block(root, height)
    if height > 0 { return }
    // A leaf has room for 32, however many are used.
    let list = extents.slice(root.first, count: UInt32(root.used))
    free(root, 0)
    block = ExtentBlock()
    store(list, in: &block)
  }

  // MARK: Trees

  /// Adds extents, joined among themselves, to a free stretch.
  mutating func insert(_ extents: [Extent], into block: inout ExtentBlock) {
    var list = extents
    guard let start = list.first?.offset, let end = list.last?.end else { return }
    if block.height == 0 {
      _ = replace(&block, from: start, to: end, with: list)
      return
    }
    if let after = first(block, endingBehind: end), list[list.count - 1].isContinued(by: after) {
      list[list.count - 1] = list[list.count - 1].joined(with: after)
      var root = ExtentArena.root(block)
      var joined: [Extent] = []
      remove(
        from: after.offset, to: after.offset + 1, in: &root, block.height, end: .max, &joined)
      finish(&block, root)
      return insert(list, into: &block)
    }
    var root = ExtentArena.root(block)
    if start > 0, let before = first(block, endingBehind: start - 1),
      before.isContinued(by: list[0])
    {
      set(before.offset, to: before.joined(with: list.removeFirst()), in: &root, block.height)
    }
    for extent in list {
      guard let right = insert(extent, into: &root, block.height, isLast: true) else { continue }
      block.height += 1
      var above = Branch(first: allocate(block.height), used: 2)
      branches.replace(at: above.first, with: [root, right])
      measure(&above, block.height)
      root = above
    }
    block = ExtentArena.block(root, block.height)
  }

  /// Returns the new right half if the node was split.
  private mutating func insert(
    _ extent: Extent, into node: inout Branch, _ height: UInt8, isLast: Bool
  ) -> Branch? {
    steps.count()
    if height == 0 {
      let place = firstPlace(in: node, from: extent.offset)
      return put(at: place, in: &node, 0, isLast) { arena, spot in arena.extents[spot] = extent }
    }
    let place = child(of: node, at: extent.offset)
    let spot = node.first + UInt32(place)
    var child = branches[spot]
    let right = insert(extent, into: &child, height - 1, isLast: isLast && place == node.used - 1)
    branches[spot] = child
    guard let right else {
      node.offset = min(node.offset, child.offset)
      node.count += 1
      node.byteCount += extent.length
      return nil
    }
    return put(at: place + 1, in: &node, height, isLast) { arena, spot in
      arena.branches[spot] = right
    }
  }

  /// Puts an element into a node. Splits a full node in halves; one that grows at the end of the file stays
  /// full.
  private mutating func put(
    at place: Int, in node: inout Branch, _ height: UInt8, _ isLast: Bool,
    _ write: (inout ExtentArena, UInt32) -> Void
  ) -> Branch? {
    if node.used < ExtentArena.fanOut {
      open(place, in: &node, height)
      write(&self, node.first + UInt32(place))
      measure(&node, height)
      return nil
    }
    let half = isLast && place == node.used ? node.used : node.used / 2
    var right = Branch(first: allocate(height), used: node.used - half)
    move(node.used - half, from: node, half, to: right, 0, height)
    node.used = half
    if place > half || half == ExtentArena.fanOut {
      open(place - half, in: &right, height)
      write(&self, right.first + UInt32(place - half))
    } else {
      open(place, in: &node, height)
      write(&self, node.first + UInt32(place))
    }
    measure(&node, height)
    measure(&right, height)
    return right
  }

  /// Replaces the extent at `offset` by one in the same position.
  mutating func set(
    _ offset: Int64, to new: Extent, in node: inout Branch, _ height: UInt8
  ) {
    steps.count()
    if height == 0 {
      let spot = node.first + UInt32(firstPlace(in: node, from: offset))
      node.byteCount += new.length - extents[spot].length
      extents[spot] = new
      node.offset = extents[node.first].offset
      return
    }
    let spot = node.first + UInt32(child(of: node, at: offset))
    var child = branches[spot]
    node.byteCount -= child.byteCount
    set(offset, to: new, in: &child, height - 1)
    node.byteCount += child.byteCount
    branches[spot] = child
    node.offset = branches[node.first].offset
  }

  /// Removes the extents that begin in [from, to). `end`: all extents below begin before it.
  mutating func remove(
    from: Int64, to: Int64, in node: inout Branch, _ height: UInt8, end: Int64,
    _ dropped: inout [Extent]
  ) {
    steps.count()
    if height == 0 {
      let range = firstPlace(in: node, from: from)..<firstPlace(in: node, from: to)
      for place in range {
        let extent = extents[node.first + UInt32(place)]
        dropped.append(extent)
        node.count -= 1
        node.byteCount -= extent.length
      }
      steps.count(range.count)
      close(range, in: &node, 0)
      if node.used > 0 { node.offset = extents[node.first].offset }
      return
    }
    let start = child(of: node, at: from)
    var kept = start
    var place = start
    while place < node.used {
      var child = branches[node.first + UInt32(place)]
      if place > start, child.offset >= to { break }
      let next = place + 1 < node.used ? branches[node.first + UInt32(place + 1)].offset : end
      node.count -= child.count
      node.byteCount -= child.byteCount
      place += 1
      if child.offset >= from, next <= to {
        detached.append((child, height - 1))
        continue
      }
      remove(from: from, to: to, in: &child, height - 1, end: next, &dropped)
      if child.used == 0 {
        free(child, height - 1)
        continue
      }
      node.count += child.count
      node.byteCount += child.byteCount
      branches[node.first + UInt32(kept)] = child
      kept += 1
    }
    close(kept..<place, in: &node, height)
    if node.used > 0 { node.offset = branches[node.first].offset }
    mergeChildren(of: &node, height, around: start)
  }

  /// Joins neighbours that a removal left almost empty.
  private mutating func mergeChildren(of node: inout Branch, _ height: UInt8, around place: Int) {
    var left = max(0, place - 1)
    while left + 1 < node.used, left <= place + 1 {
      var child = branches[node.first + UInt32(left)]
      let next = branches[node.first + UInt32(left + 1)]
      if child.used + next.used > ExtentArena.mergeLimit {
        left += 1
        continue
      }
      move(next.used, from: next, 0, to: child, child.used, height - 1)
      child.used += next.used
      child.count += next.count
      child.byteCount += next.byteCount
      branches[node.first + UInt32(left)] = child
      free(next, height - 1)
      close(left + 1..<left + 2, in: &node, height)
    }
  }
}

extension ExtentArena {
  /// Memory of extents and nodes, including free ones.
  var byteCount: Int {
    Int(extents.count) * MemoryLayout<Extent>.stride
      + Int(branches.count) * MemoryLayout<Branch>.stride
  }

  /// Checks the invariants of a tree; returns a violation, or nil.
  func fault(in block: ExtentBlock) -> String? {
    var last: Extent?
    var found = ExtentArena.root(block)
    let fault = fault(in: &found, block.height, &last)
    if fault != nil { return fault }
    let isRight = found.count == block.count && found.byteCount == block.byteCount
    return isRight ? nil : "the sums of a file are wrong"
  }

  /// Sets the sums of `node` from what is below it.
  private func fault(in node: inout Branch, _ height: UInt8, _ last: inout Extent?) -> String? {
    if node.used == 0 && height > 0 { return "a node is empty" }
    (node.count, node.byteCount) = (0, 0)
    for place in 0..<node.used {
      let spot = node.first + UInt32(place)
      if height == 0 {
        let extent = extents[spot]
        if let last, last.end > extent.offset { return "extents overlap" }
        if let last, last.isContinued(by: extent) { return "neighbours are not joined" }
        if place == 0 { node.offset = extent.offset }
        node.count += 1
        node.byteCount += extent.length
        last = extent
        continue
      }
      let stated = branches[spot]
      var child = stated
      if child.used == 0 { return "a node is empty" }
      if let fault = fault(in: &child, height - 1, &last) { return fault }
      if child.offset != stated.offset { return "a branch states a wrong offset" }
      if child.count != stated.count || child.byteCount != stated.byteCount {
        return "the sums of a branch are wrong"
      }
      if place == 0 { node.offset = child.offset }
      node.count += child.count
      node.byteCount += child.byteCount
    }
    return nil
  }
}
