internal import AlbumFormat
internal import AlbumModel

/// Where the extents of one file lie in the arena.
struct ExtentBlock: BitwiseCopyable, Sendable {
  var first: UInt32 = 0
  var count: UInt32 = 0
}

/// The extents of all files: blocks of 1, 2, 4, … extents in one flat arena; freed blocks of each
/// size wait in a list of their own, linked through their first extent. Not thread-safe.
struct ExtentArena: ~Copyable, Sendable {
  private var extents = FlatArena<Extent>()
  private var freed = [UInt32](repeating: .max, count: 32)

  private static func sizeClass(_ count: UInt32) -> Int {
    count <= 1 ? 0 : 32 - (count - 1).leadingZeroBitCount
  }

  func all(_ block: ExtentBlock) -> [Extent] {
    block.count == 0 ? [] : extents.slice(block.first, count: block.count)
  }

  func extent(_ block: ExtentBlock, _ index: Int) -> Extent {
    extents[block.first + UInt32(index)]
  }

  /// The index of the first extent that ends behind `offset`, or `count`.
  func firstIndex(_ block: ExtentBlock, endingBehind offset: Int64) -> Int {
    var low = 0
    var high = Int(block.count)
    while low < high {
      let middle = (low + high) / 2
      if extent(block, middle).end > offset { high = middle } else { low = middle + 1 }
    }
    return low
  }

  mutating func replace(_ block: inout ExtentBlock, with new: [Extent]) {
    let count = UInt32(new.count)
    let size = ExtentArena.sizeClass(count)
    if block.count == 0 || count == 0 || size != ExtentArena.sizeClass(block.count) {
      release(&block)
      if count == 0 { return }
      block.first = allocate(size)
    }
    block.count = count
    extents.replace(at: block.first, with: new)
  }

  /// Changes the last extent without looking at the others.
  mutating func setLast(_ block: ExtentBlock, to extent: Extent) {
    extents[block.first + block.count - 1] = extent
  }

  mutating func append(_ extent: Extent, to block: inout ExtentBlock) {
    if block.count == 0 || block.count.nonzeroBitCount == 1 {
      replace(&block, with: all(block) + [extent])
    } else {
      extents[block.first + block.count] = extent
      block.count += 1
    }
  }

  mutating func release(_ block: inout ExtentBlock) {
    if block.count == 0 { return }
    let size = ExtentArena.sizeClass(block.count)
    extents[block.first].grid = freed[size]
    freed[size] = block.first
    block = ExtentBlock()
  }

  private mutating func allocate(_ size: Int) -> UInt32 {
    let first = freed[size]
    if first != .max {
      freed[size] = extents[first].grid
      return first
    }
    let blank = Extent(offset: 0, length: 0, segment: SegmentNumber(0), grid: 0, skip: 0)
    return extents.append(blank, count: 1 << size)
  }
}
