internal import AlbumModel

/// The bytes of many names, of which the owner knows the places. When half of the bytes are of names that are
/// gone, the owner moves the others to a new block, some with each of its changes. So no change moves more
/// than `namesPerChange` names, however many there are. Not thread-safe.
struct NameArena: ~Copyable, Sendable {
  /// So many records of the owner are looked at with each change.
  static let namesPerChange: UInt32 = 4
  /// Smaller blocks are not worth it.
  private static let leastWaste: UInt32 = 1 << 20
  /// The bit of a place that says in which of two blocks it is.
  private static let blockBit: UInt32 = 1 << 31

  private var block = FlatArena<UInt8>(capacity: 256)
  /// The bit of places in `block`.
  private var bit: UInt32 = 0
  /// Bytes of `block` that no name has.
  private var wasted: UInt32 = 0
  /// The previous block, from which names still move.
  private var former = FlatArena<UInt8>(capacity: 1)
  /// The next of the owner's records whose name moves; nil: none do.
  private(set) var next: UInt32?

  var byteCount: Int { block.byteCount + former.byteCount }

  subscript(place: UInt32) -> UInt8 {
    let offset = place & ~NameArena.blockBit
    return place & NameArena.blockBit == bit ? block[offset] : former[offset]
  }

  func slice(_ place: UInt32, count: UInt32) -> [UInt8] {
    let offset = place & ~NameArena.blockBit
    return place & NameArena.blockBit == bit
      ? block.slice(offset, count: count) : former.slice(offset, count: count)
  }

  /// Adds a name, behind a byte with its length if `isCounted`. Returns its place.
  mutating func append(_ name: FileName, isCounted: Bool = false) -> UInt32 {
    let place = end
    if isCounted { block.append(UInt8(name.bytes.count)) }
    for byte in name.bytes { block.append(byte) }
    return place
  }

  private var end: UInt32 {
    precondition(block.count < NameArena.blockBit - 256, "the catalog is full")
    return block.count | bit
  }

  /// The name of some bytes is gone.
  mutating func discard(_ place: UInt32, count: UInt32) {
    if place & NameArena.blockBit == bit { wasted += count }
    if next != nil || wasted < NameArena.leastWaste || wasted <= block.count / 2 { return }
    swap(&block, &former)
    block = FlatArena(capacity: 256)
    (bit, wasted, next) = (bit ^ NameArena.blockBit, 0, 0)
  }

  /// Moves a name to the new block, unless it is there. Returns its place.
  mutating func move(_ place: UInt32, count: UInt32) -> UInt32 {
    if place & NameArena.blockBit == bit { return place }
    let (target, first) = (end, place & ~NameArena.blockBit)
    for offset in first..<first + count { block.append(former[offset]) }
    return target
  }

  /// The owner has looked at its records below `place`, of `count`.
  mutating func hasMoved(below place: UInt32, of count: UInt32) {
    next = place
    if place < count { return }
    next = nil
    former = FlatArena(capacity: 1)
  }
}
