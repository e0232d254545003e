internal import Glibc

/// All bytes of a file that has no size to go by, such as those under /proc.
package func readWholeFile(_ path: String) throws(Errno) -> [UInt8] {
  try FileDescriptor(open: path, O_RDONLY).readToEnd()
}

extension FileDescriptor {
  /// All bytes until the file ends, or the other side of a connection: those of a page at most come at
  /// once.
  func readToEnd() throws(Errno) -> [UInt8] {
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = try retrying {
        unsafe buffer.withUnsafeMutableBytes {
          unsafe Glibc.read(rawValue, $0.baseAddress, $0.count)
        }
      }
      if count == 0 { return content }
      content += buffer[..<count]
    }
  }
}
