import AlbumModel
import AlbumTestSupport
import Glibc
import Posix
import Testing

// One suite for both kinds of disk, the real one and the simulated one, which must behave alike.

struct StorageDirectoryTests {
  @Test func theRealDisk() throws {
    let place = TemporaryDirectory()
    try check(try PosixDirectory(path: place.path))
  }

  @Test func theSimulatedDisk() throws { try check(SimulatedDisk()) }

  private func check(_ disk: any StorageDirectory) throws {
    try disk.makeDirectory("segments")
    #expect(throws: Errno.exists) { try disk.makeDirectory("segments") }
    #expect(throws: Errno.noEntry) { _ = try disk.open("segments/a", .read) }
    let file = try disk.open("segments/a", .createNew)
    #expect(throws: Errno.exists) { _ = try disk.open("segments/a", .createNew) }
    try write(file, [1, 2, 3, 4], at: 0)
    try write(file, [9], at: 6)
    #expect(try file.size() == 7)
    #expect(try disk.contents(of: "segments/a", limit: 100) == [1, 2, 3, 4, 0, 0, 9])
    #expect(throws: Errno.tooBig) { _ = try disk.contents(of: "segments/a", limit: 6) }
    try write(file, [5, 6], [7, 8], at: 3)
    try write(file, [1], [], at: 0)
    #expect(try disk.contents(of: "segments/a", limit: 100) == [1, 2, 3, 5, 6, 7, 8])
    try file.setModificationTime(Timestamp(seconds: 946_684_800))
    #expect(try file.modificationTime() == Timestamp(seconds: 946_684_800))
    try file.sync()
    try disk.rename("segments/a", to: "segments/b")
    #expect(try disk.list("segments") == ["b"])
    #expect(try disk.list("") == ["segments"])
    try disk.syncDirectory("segments")
    try disk.remove("segments/b")
    #expect(throws: Errno.noEntry) { try disk.remove("segments/b") }
    // An open file can still be read.
    #expect(try file.size() == 7)
    #expect(try disk.capacity().availableBytes > 0)
  }

  private func write(
    _ file: any StorageFile, _ bytes: [UInt8], _ rest: [UInt8], at offset: Int64
  ) throws {
    try unsafe bytes.withUnsafeBytes { bytes in
      try unsafe rest.withUnsafeBytes { try unsafe file.write(bytes, $0, at: offset) }
    }
  }

  private func write(_ file: any StorageFile, _ bytes: [UInt8], at offset: Int64) throws {
    try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: offset) }
  }
}

struct SimulatedDiskTests {
  @Test func syncedDataSurvivesEveryCutAndTheRestMayBeTorn() throws {
    var random = SeededRandom(seed: 3)
    let disk = SimulatedDisk()
    let file = try disk.open("a", .createNew)
    let old = [UInt8](repeating: 1, count: 4096)
    let new = [UInt8](repeating: 2, count: 4096)
    try unsafe old.withUnsafeBytes { try unsafe file.write($0, at: 0) }
    try file.sync()
    try disk.syncDirectory("")
    try unsafe new.withUnsafeBytes { try unsafe file.write($0, at: 0) }
    var seen: Set<[UInt8]> = []
    for _ in 0..<60 {
      let bytes = try disk.crashed(&random).contents(of: "a", limit: 10_000)
      #expect(bytes.count == 4096 && bytes.allSatisfy { $0 == 1 || $0 == 2 })
      seen.insert(bytes)
    }
    #expect(seen.contains(old) && seen.contains(new) && seen.count > 5)
  }
}

struct FileDescriptorTests {
  @Test func aStoreCannotBeLeftThroughASymlink() throws {
    let place = TemporaryDirectory()
    let disk = try PosixDirectory(path: place.path)
    #expect(symlink("/etc/passwd", "\(place.path)/keys"))
    #expect(throws: Errno(.link, wantsDirectory: false)) { _ = try disk.open("keys", .read) }
    #expect(symlink("/etc", "\(place.path)/segments"))
    #expect(throws: Errno(.way, wantsDirectory: false)) {
      _ = try disk.open("segments/passwd", .read)
    }
    #expect(throws: Errno.crossDevice) { _ = try disk.open("../passwd", .read) }
  }

  @Test func aLockIsSeenByOthersAndGoesWithItsDescriptor() throws {
    let place = TemporaryDirectory()
    let disk = try PosixDirectory(path: place.path)
    var one: (any StorageFile)? = try disk.open("conf", .createNew)
    let other = try disk.open("conf", .readWrite)
    try one?.lock(exclusive: true, offset: 1 << 33, length: 1, wait: false)
    try other.lock(exclusive: true, offset: 0, length: 1, wait: false)
    #expect(throws: Errno.again) {
      try other.lock(exclusive: true, offset: 1 << 33, length: 1, wait: false)
    }
    one = nil
    try other.lock(exclusive: true, offset: 1 << 33, length: 1, wait: false)
  }

  private func symlink(_ target: String, _ path: String) -> Bool {
    unsafe Glibc.symlink(target, path) == 0
  }
}

/// An attacker who can write to a store cannot lead a reader out of it or make it wait, on kernels with and
/// without openat2.
@Suite(.timeLimit(.minutes(30))) struct PreparedDirectoryTests {
  private func withDirectory(_ body: (String, PosixDirectory) throws -> Void) throws {
    for resolution in [PathResolution.byKernel, .stepwise] {
      let place = TemporaryDirectory()
      #expect(unsafe mkdir(place.path + "/folder", 0o700) == 0)
      #expect(unsafe mkdir(place.path + "/outside", 0o700) == 0)
      let disk = try PosixDirectory(path: place.path, resolution: resolution)
      try body(place.path, disk)
    }
  }

  @Test func onlyFilesAreOpenedAndTheRestIsNamed() throws {
    try withDirectory { path, disk in
      #expect(unsafe mkfifo(path + "/fifo", 0o600) == 0)
      #expect(unsafe mkfifo(path + "/folder/fifo", 0o600) == 0)
      #expect(unsafe symlink("/etc/passwd", path + "/link") == 0)
      for access in [StorageAccess.read, .readWrite] {
        for (name, kind) in [
          ("fifo", Misplaced.fifo), ("folder/fifo", .fifo), ("link", .link), ("folder", .directory),
        ] {
          #expect(throws: Errno(kind, wantsDirectory: false), "\(name)") {
            _ = try disk.open(name, access)
          }
        }
      }
      #expect(throws: Errno.exists) { _ = try disk.open("fifo", .createNew) }
      #expect(throws: Errno.exists) { _ = try disk.open("link", .createNew) }
      #expect(throws: Errno(.fifo, wantsDirectory: true)) { _ = try disk.list("fifo") }
      #expect(throws: Errno(.link, wantsDirectory: true)) { try disk.syncDirectory("link") }
      #expect(
        Errno(.fifo, wantsDirectory: true).description == "it is a FIFO, not a directory: remove it"
      )
      #expect(Errno(.fifo, wantsDirectory: false).isMisplaced && !Errno.io.isMisplaced)
    }
  }

  @Test func noCallLeavesTheDirectoryThroughALink() throws {
    try withDirectory { path, disk in
      let outside = TemporaryDirectory()
      close(unsafe creat(outside.path + "/file", 0o600))
      #expect(unsafe symlink(outside.path, path + "/way") == 0)
      #expect(throws: Errno(.way, wantsDirectory: false)) { _ = try disk.open("way/file", .read) }
      #expect(throws: Errno(.way, wantsDirectory: false)) {
        _ = try disk.open("way/new", .createNew)
      }
      let refusal = Errno(.link, wantsDirectory: true)
      #expect(throws: refusal) { try disk.remove("way/file") }
      #expect(throws: refusal) { try disk.makeDirectory("way/folder") }
      #expect(throws: refusal) { try disk.rename("way/file", to: "file") }
      #expect(throws: refusal) { _ = try disk.list("way") }
      #expect(throws: Errno.crossDevice) { _ = try disk.open("../file", .read) }
      #expect(throws: Errno.crossDevice) { _ = try disk.open("/etc/passwd", .read) }
      let names = try PosixDirectory(path: outside.path).list("")
      #expect(names == ["file"])
    }
  }

  @Test func aFileThatWasExchangedIsNotInItsPlace() throws {
    try withDirectory { path, disk in
      let file = try disk.open("folder/file", .createNew)
      #expect(try disk.holds(file, at: "folder/file"))
      #expect(unsafe rename(path + "/folder", path + "/moved") == 0)
      #expect(try !disk.holds(file, at: "folder/file"))
      #expect(unsafe symlink(path + "/moved", path + "/folder") == 0)
      #expect(try !disk.holds(file, at: "folder/file"))
      #expect(unsafe unlink(path + "/folder") == 0)
      #expect(unsafe mkdir(path + "/folder", 0o700) == 0)
      let other = try disk.open("folder/file", .createNew)
      #expect(try !disk.holds(file, at: "folder/file"))
      #expect(try disk.holds(other, at: "folder/file"))
    }
  }
}
