internal import Glibc
internal import Posix

/// Reads files under /proc, which have no size to go by.
enum ProcFile {
  static func contents(_ path: String) throws(Errno) -> [UInt8] {
    let file = try FileDescriptor(open: path, O_RDONLY)
    var result: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = try read(file, into: &chunk)
      if count == 0 { return result }
      result += chunk[..<count]
    }
  }

  private static func read(_ file: borrowing FileDescriptor, into chunk: inout [UInt8])
    throws(Errno) -> Int
  {
    let raw = file.rawValue
    return try retrying {
      unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(raw, $0.baseAddress, $0.count) }
    }
  }
}
