import Glibc
import Posix

/// A test's own directory below the system's temporary directory, removed with this object.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() {
    var template = Array("/tmp/albumfs-test-XXXXXX".utf8CString)
    let made = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe mkdtemp(buffer.baseAddress!) != nil
    }
    precondition(made, "cannot make a directory under /tmp: \(Errno.last)")
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { TemporaryDirectory.remove(path) }

  private static func remove(_ path: String) {
    if let stream = unsafe opendir(path) {
      var names: [String] = []
      while let entry = unsafe readdir(stream) {
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
          unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
      }
      unsafe _ = closedir(stream)
      for name in names {
        var status = stat()
        let child = "\(path)/\(name)"
        if unsafe lstat(child, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
          remove(child)
        } else {
          unsafe _ = unlink(child)
        }
      }
    }
    unsafe _ = rmdir(path)
  }
}
