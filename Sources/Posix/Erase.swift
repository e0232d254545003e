internal import Glibc

/// explicit_bzero(3): overwrites memory in a way that the compiler does not leave out.
package func erase(_ memory: UnsafeMutableRawBufferPointer) {
  if let start = memory.baseAddress { unsafe explicit_bzero(start, memory.count) }
}
