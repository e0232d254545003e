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
      #expect(code(directory + "/none") == .mountPointMissing)
      _ = try FileDescriptor(open: directory + "/file", O_CREAT | O_WRONLY)
      #expect(code(directory + "/file") == .mountPointNotDirectory)
      #expect(code(directory) == .mountPointNotEmpty)
      #expect(code("/proc") == .mountPointBusy)
    }
  }

  private func code(_ path: String) -> MountError.Code? {
    do throws(MountError) {
      _ = try MountPoint(path)
      return nil
    } catch {
      return error.code
    }
  }
}

/// Makes a directory of its own, and removes it with the files and empty directories in it.
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
