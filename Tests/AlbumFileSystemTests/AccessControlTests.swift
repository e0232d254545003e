import AlbumModel
import Testing

@testable import AlbumFileSystem

/// POSIX ACLs as the file system keeps them: in step with the permission bits, and inherited.
@Suite struct AccessControlTests {
  private static let access = AccessControl.accessName
  private static let inherited = AccessControl.defaultName

  /// Encodes an ACL as the kernel does, from (tag, permissions, id).
  private func list(_ entries: (UInt8, UInt8, UInt8?)...) -> [UInt8] {
    entries.reduce([2, 0, 0, 0]) { bytes, entry in
      let id: [UInt8] = entry.2.map { [$0, 0, 0, 0] } ?? [255, 255, 255, 255]
      return bytes + [entry.0, 0, entry.1, 0] + id
    }
  }

  /// owner rwx, user 7 rwx, group r-x, mask rwx, others none
  private var rich: [UInt8] {
    list((1, 7, nil), (2, 7, 7), (4, 5, nil), (16, 7, nil), (32, 0, nil))
  }

  private func set(_ space: TestSpace, _ path: String, _ value: [UInt8], _ name: [UInt8] = access)
    throws
  {
    try space.fileSystem.setExtendedAttribute(
      name, to: value, of: space.number(path), mode: AttributeMode())
  }

  private func get(_ space: TestSpace, _ path: String, _ name: [UInt8] = access) -> [UInt8]? {
    try? space.fileSystem.extendedAttribute(name, of: space.number(path))
  }

  private func chmod(_ space: TestSpace, _ path: String, _ mode: UInt16) throws {
    var change = AttributeChange()
    change.permissions = mode
    _ = try space.fileSystem.change(change, of: space.number(path))
  }

  @Test func anACLAndThePermissionBitsAreOne() throws {
    let space = try TestSpace()
    try space.write("x", to: "file")
    try chmod(space, "file", 0o4600)
    try set(space, "file", rich)
    #expect(try space.status("file").permissions == 0o4770)
    #expect(get(space, "file") == rich)
    try chmod(space, "file", 0o614)
    #expect(
      get(space, "file")
        == list((1, 6, nil), (2, 7, 7), (4, 5, nil), (16, 1, nil), (32, 4, nil)))
    // An ACL that says no more than the permission bits is not stored.
    try set(space, "file", list((1, 6, nil), (4, 4, nil), (32, 0, nil)))
    #expect(try space.status("file").permissions == 0o640)
    #expect(get(space, "file") == nil)
    try space.fileSystem.removeExtendedAttribute(Self.access, of: space.number("file"))
    #expect(space.fileSystem.hasAccessControl)
  }

  @Test func newFilesAndDirectoriesInherit() throws {
    let space = try TestSpace()
    try space.mkdir(".d")
    try set(space, ".d", rich, Self.inherited)
    let caller = Caller(user: 1000, group: 1000, umask: 0o077)
    try space.mkdir(".d/sub", mode: 0o777, by: caller)
    try space.write("x", to: ".d/file")
    #expect(try space.status(".d/sub").permissions == 0o770)
    #expect(get(space, ".d/sub") == rich && get(space, ".d/sub", Self.inherited) == rich)
    #expect(try space.status(".d/file").permissions == 0o640)
    #expect(
      get(space, ".d/file")
        == list((1, 6, nil), (2, 7, 7), (4, 5, nil), (16, 4, nil), (32, 0, nil)))
    #expect(get(space, ".d/file", Self.inherited) == nil)
    try space.mkdir(".plain", mode: 0o777, by: caller)
    #expect(try space.status(".plain").permissions == 0o700)
    #expect(get(space, ".plain") == nil)
  }

  @Test func bytesThatAreNoACLAreRefused() throws {
    let space = try TestSpace()
    try space.write("x", to: "file")
    let bad: [[UInt8]] = [
      [], [1, 0, 0, 0], [2, 0, 0, 0, 1], Array(rich.dropLast(8)),
      list((1, 7, nil), (2, 7, 7), (4, 5, nil), (32, 0, nil)),
      list((1, 9, nil), (4, 5, nil), (32, 0, nil)),
      list((1, 7, nil), (1, 7, nil), (4, 5, nil), (32, 0, nil)),
      list((1, 7, nil), (4, 5, nil), (32, 0, nil), (64, 0, nil)),
    ]
    for bytes in bad {
      #expect(throws: FSError.self) { try set(space, "file", bytes) }
    }
    #expect(throws: FSError.self) { try set(space, "file", rich, Self.inherited) }
    #expect(try space.status("file").permissions == 0o644)
  }

  @Test func aNamelessFileGetsItsNameWhileItIsOpen() throws {
    let space = try TestSpace()
    let root = try space.number("")
    let (entry, file) = try space.fileSystem.createNameless(
      in: root, permissions: 0o600, mode: OpenMode(writes: true), for: TestSpace.me)
    try file.put(Array("content".utf8), at: 0)
    #expect(entry.attributes.links == 0)
    let inode = entry.attributes.inode
    _ = try space.fileSystem.link(inode, as: FileName("file"), in: root, for: TestSpace.me)
    file.release()
    #expect(try space.text("file") == "content")
    let (other, closed) = try space.fileSystem.createNameless(
      in: root, permissions: 0o600, mode: OpenMode(writes: true), for: TestSpace.me)
    closed.release()
    #expect(throws: FSError.self) {
      _ = try space.fileSystem.link(
        other.attributes.inode, as: FileName("late"), in: root, for: TestSpace.me)
    }
  }
}
