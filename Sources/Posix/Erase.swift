internal import Glibc

/// Overwrites memory (explicit_bzero(3)); the compiler does not optimise this away.
package func erase(_ memory: UnsafeMutableRawBufferPointer) {
  if let start = memory.baseAddress { unsafe explicit_bzero(start, memory.count) }
}
