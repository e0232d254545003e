internal import Glibc

/// A growing array of plain values with 32-bit indices. Growth leaves no copy behind: realloc remaps the
/// pages of large blocks, and unwritten pages take no memory. Not thread-safe.
@safe struct FlatArena<Element: BitwiseCopyable & Sendable>: ~Copyable, @unchecked Sendable {
  // @unchecked because the memory is this struct's alone, and the struct cannot be copied.
  private var base: UnsafeMutablePointer<Element>
  private(set) var count: UInt32 = 0
  private var capacity: UInt32

  init(capacity: UInt32 = 64) {
    self.capacity = capacity
    unsafe base = FlatArena.resized(nil, to: capacity)
  }

  /// Of the used part, which is all that takes memory.
  var byteCount: Int { Int(count) * MemoryLayout<Element>.stride }

  deinit { unsafe free(base) }

  private static func resized(_ old: UnsafeMutablePointer<Element>?, to capacity: UInt32)
    -> UnsafeMutablePointer<Element>
  {
    let bytes = Int(capacity) * MemoryLayout<Element>.stride
    guard let new = unsafe realloc(old, bytes) else {
      preconditionFailure("out of memory: \(bytes) bytes for the catalog")
    }
    return unsafe new.bindMemory(to: Element.self, capacity: Int(capacity))
  }

  subscript(index: UInt32) -> Element {
    get {
      precondition(index < count)
      return unsafe base[Int(index)]
    }
    _modify {
      precondition(index < count)
      yield unsafe &base[Int(index)]
    }
  }

  /// Appends `number` copies and returns the index of the first.
  @discardableResult
  mutating func append(_ element: Element, count number: UInt32 = 1) -> UInt32 {
    let first = count
    let (wanted, overflow) = count.addingReportingOverflow(number)
    precondition(!overflow, "the catalog is full")
    if wanted > capacity {
      capacity = max(wanted, capacity > .max / 2 ? .max : capacity * 2)
      unsafe base = FlatArena.resized(base, to: capacity)
    }
    for index in first..<wanted { unsafe base[Int(index)] = element }
    count = wanted
    return first
  }

  /// Copies out a run.
  func slice(_ first: UInt32, count number: UInt32) -> [Element] {
    precondition(UInt64(first) + UInt64(number) <= UInt64(count))
    return unsafe Array(UnsafeBufferPointer(start: base + Int(first), count: Int(number)))
  }

  /// Overwrites a run.
  mutating func replace(at first: UInt32, with elements: [Element]) {
    precondition(UInt64(first) + UInt64(elements.count) <= UInt64(count))
    for (step, element) in elements.enumerated() { unsafe base[Int(first) + step] = element }
  }

  /// Copies a run over another, which may overlap it.
  mutating func move(_ first: UInt32, to target: UInt32, count number: UInt32) {
    precondition(UInt64(max(first, target)) + UInt64(number) <= UInt64(count))
    unsafe (base + Int(target)).update(from: base + Int(first), count: Int(number))
  }
}
