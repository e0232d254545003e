/// Bytes that nobody else may see: in memory between guard pages, locked against swapping, left out
/// of core dumps, wiped when this ends. Never copied, never printed.
///
/// Its length does not change. May be handed between threads, and read by several at once.
@safe package struct SecretBytes: ~Copyable, @unchecked Sendable {
  // @unchecked because the pointer is owned: only `mutating` calls write, and those are exclusive.
  private let memory: UnsafeMutableRawBufferPointer

  /// `count` bytes that `fill` writes, in place.
  package init<Failure: Error>(
    count: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    unsafe memory = Sodium.allocate(count)
    unsafe Sodium.wipe(memory)
    try unsafe fill(memory)
  }

  /// `count` random bytes.
  package init(randomCount count: Int) {
    unsafe self.init(count: count) { unsafe Sodium.random($0) }
  }

  /// A copy; `bytes` themselves are the caller's to wipe.
  package init(copying bytes: UnsafeRawBufferPointer) {
    unsafe self.init(count: bytes.count) { unsafe $0.copyMemory(from: bytes) }
  }

  /// Takes the bytes over and wipes the array, whose memory must have no other owner.
  package init(wiping bytes: inout [UInt8]) {
    unsafe self.init(count: bytes.count) { secret in
      unsafe bytes.withUnsafeMutableBytes {
        unsafe secret.copyMemory(from: UnsafeRawBufferPointer($0))
        unsafe Sodium.wipe($0)
      }
    }
    bytes = []
  }

  deinit { unsafe Sodium.free(memory) }

  package var count: Int { unsafe memory.count }
  package var isEmpty: Bool { unsafe memory.isEmpty }

  /// The bytes, for the time of the call.
  package func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe body(UnsafeRawBufferPointer(memory))
  }

  /// The bytes, to be changed, for the time of the call.
  package mutating func withUnsafeMutableBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe body(memory)
  }

  /// A second one of the same bytes.
  package func copy() -> SecretBytes { unsafe SecretBytes(copying: UnsafeRawBufferPointer(memory)) }

  /// Compares in a time that depends on the lengths alone.
  package func isEqual(to other: borrowing SecretBytes) -> Bool {
    unsafe Sodium.areEqual(
      UnsafeRawBufferPointer(memory), UnsafeRawBufferPointer(other.memory))
  }
}
