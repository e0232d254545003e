import Glibc
import Posix
import Testing

@testable import FUSEDriver

@Suite struct MountPointTests {
  @Test func emptyDirectoryIsTakenByItsFullPath() throws {
    try withTemporaryDirectory { directory in
      let inner = directory + "/inner"
      #expect(unsafe mkdir(inner, 0o700) == 0)
      let link = directory + "/link"
      #expect(unsafe symlink("inner", link) == 0)
      let point = try MountPoint(link)
      #expect(try point == MountPoint(inner))
      #expect(point.path.hasSuffix("/inner"))
    }
  }

  @Test func otherPlacesAreRefusedByWhatIsWrongWithThem() throws {
    try withTemporaryDirectory { directory in
      #expect(fault(directory + "/none") == .missing)
      _ = try FileDescriptor(open: directory + "/file", O_CREAT | O_WRONLY)
      #expect(fault(directory + "/file") == .notDirectory)
      #expect(fault(directory) == .notEmpty(["file"]))
      #expect(try MountPoint(directory, mayHoldFiles: true).path.hasSuffix(directory))
      #expect(fault("/proc") == .busy)
    }
  }

  private func fault(_ path: String) -> MountPointFault? {
    do throws(MountError) {
      _ = try MountPoint(path)
    } catch .mountPoint(path, let fault) {
      return fault
    } catch {
      Issue.record("\(error)")
    }
    return nil
  }
}

/// Runs `body` with a new directory, and removes it with its files and empty directories.
func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
  var template = Array("/tmp/albumfs-driver-XXXXXX".utf8CString)
  guard let made = unsafe mkdtemp(&template) else { throw Errno.last }
  let path = unsafe String(cString: made)
  defer {
    for name in (try? PosixDirectory(path: path).list("")) ?? [] {
      unsafe _ = unlink("\(path)/\(name)") == 0 || rmdir("\(path)/\(name)") == 0
    }
    unsafe _ = rmdir(path)
  }
  try body(path)
}
