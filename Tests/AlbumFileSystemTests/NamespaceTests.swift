import AlbumFileSystem
import AlbumModel
import Testing

// The rules of POSIX for times, modes, owners, attributes and listings.

struct NamespaceTests {
  let space: TestSpace
  init() throws {
    space = try TestSpace()
    try space.mkdir(".p")
  }

  @Test func creatingAndRemovingMovesTheDirectorysTimes() throws {
    let before = try space.status(".p")
    try space.write("", to: ".p/f")
    let created = try space.status(".p")
    #expect(created.modified > before.modified && created.changed > before.changed)
    try space.unlink(".p/f")
    #expect(try space.status(".p").modified > created.modified)
  }

  @Test func linkUnlinkAndRenameMoveTheFilesChangeTime() throws {
    try space.write("", to: ".p/f")
    var last = try space.status(".p/f")
    func moved(_ body: () throws -> Void) throws -> Bool {
      try body()
      let now = try space.status(".p/f")
      defer { last = now }
      return now.changed > last.changed && now.modified == last.modified
    }
    #expect(try moved { try space.link(".p/f", ".p/g") })
    #expect(try space.status(".p/f").links == 2)
    #expect(try moved { try space.unlink(".p/g") })
    #expect(
      try moved {
        try space.rename(".p/f", ".p/h"); try space.rename(".p/h", ".p/f")
      })
  }

  /// A program that knows a file by its inode removes and renames no other one, also where another program
  /// has just exchanged the names.
  @Test func onlyTheFileThatACallerMeansIsRemovedAndRenamed() throws {
    let (me, other) = (Caller(user: 0, group: 0, thread: 7), Caller(user: 0, group: 0, thread: 8))
    for name in ["f", "g"] { try space.write(name, to: ".p/" + name) }
    let (p, f) = (try space.number(".p"), try space.number(".p/f"))
    let (here, there) = (try FileName("f"), try FileName("h"))
    let files = space.fileSystem
    func refused(_ call: () throws -> Void) {
      files.meant.add(here, is: f, by: 7)
      #expect(refusal(call) == .notFound)
    }
    try space.rename(".p/f", ".p/g", exchange: true)
    refused { try files.unlink(here, in: p, for: me) }
    refused { try files.rename(here, in: p, to: there, in: p, mode: RenameMode(), for: me) }
    #expect(try space.text(".p/f") == "g" && space.text(".p/g") == "f")
    // What one thread means is nothing to another one, or of another name, or of a later request.
    files.meant.add(here, is: f, by: 7)
    try files.rename(here, in: p, to: there, in: p, mode: RenameMode(), for: other)
    try files.rename(there, in: p, to: here, in: p, mode: RenameMode(), for: me)
    try files.unlink(here, in: p, for: me)
    try space.rename(".p/g", ".p/f")
    files.meant.add(here, is: f, by: 7)
    try files.unlink(here, in: p, for: me)
    #expect(!space.exists(".p/f"))
  }

  @Test func aSetGroupIDDirectoryPassesItsGroupOn() throws {
    var change = AttributeChange()
    change.permissions = 0o2775
    change.group = 77
    _ = try space.fileSystem.change(change, of: space.number(".p"))
    try space.write("", to: ".p/f")
    try space.mkdir(".p/d")
    #expect(try space.status(".p/f").group == 77)
    #expect(try space.status(".p/d").group == 77)
    #expect(try space.status(".p/d").permissions & 0o2000 != 0)
  }

  @Test func aChangeOfOwnerDropsSetIDBits() throws {
    try space.write("", to: ".p/f")
    var change = AttributeChange()
    change.permissions = 0o6755
    _ = try space.fileSystem.change(change, of: space.number(".p/f"))
    var owner = AttributeChange()
    owner.owner = 7
    _ = try space.fileSystem.change(owner, of: space.number(".p/f"))
    #expect(try space.status(".p/f").permissions == 0o755)
    _ = try space.fileSystem.change(change, of: space.number(".p/f"))
    var kill = AttributeChange()
    kill.killsSetID = true
    _ = try space.fileSystem.change(kill, of: space.number(".p/f"))
    #expect(try space.status(".p/f").permissions == 0o755)
  }

  @Test func timesFromTheKernelAreKept() throws {
    try space.write("", to: ".p/f")
    var change = AttributeChange()
    change.accessed = .at(Timestamp(seconds: -5, nanoseconds: 1))
    change.modified = .at(Timestamp(seconds: 3, nanoseconds: 4))
    change.changed = Timestamp(seconds: 9, nanoseconds: 9)
    _ = try space.fileSystem.change(change, of: space.number(".p/f"))
    try space.remount()
    let status = try space.status(".p/f")
    #expect(status.accessed == Timestamp(seconds: -5, nanoseconds: 1))
    #expect(status.modified == Timestamp(seconds: 3, nanoseconds: 4))
    #expect(status.changed == Timestamp(seconds: 9, nanoseconds: 9))
  }

  @Test func devicesPipesSocketsAndLongSymlinksAreEntries() throws {
    let parent = try space.number(".p")
    let kinds: [(String, FileKind)] = [
      ("pipe", .fifo), ("socket", .socket), ("disk", .blockDevice), ("tty", .characterDevice),
    ]
    for (name, kind) in kinds {
      _ = try space.fileSystem.makeNode(
        FileName(name), in: parent, kind: kind, permissions: 0o600, device: 0x1234,
        for: TestSpace.me)
    }
    let target = [UInt8](repeating: UInt8(ascii: "x"), count: 4095)
    _ = try space.fileSystem.makeSymlink(
      FileName("link"), in: parent, target: target, for: TestSpace.me)
    try space.remount()
    for (name, kind) in kinds { #expect(try space.status(".p/\(name)").kind == kind) }
    #expect(try space.status(".p/disk").device == 0x1234)
    #expect(try space.status(".p/pipe").device == 0)
    #expect(try space.fileSystem.symlinkTarget(of: space.number(".p/link")) == target)
    #expect(try space.status(".p/link").size == 4095)
  }

  @Test func extendedAttributesAreKeptAndLimited() throws {
    try space.write("", to: ".p/f")
    let file = try space.number(".p/f")
    let name = Array("user.colour".utf8)
    func set(_ name: String, _ value: [UInt8], _ mode: AttributeMode = AttributeMode()) throws {
      try space.fileSystem.setExtendedAttribute(
        Array(name.utf8), to: value, of: file, mode: mode)
    }
    #expect(refusal { try set("user.colour", [1], AttributeMode(replace: true)) } == .noAttribute)
    try set("user.colour", [UInt8](repeating: 7, count: 65_536))
    #expect(refusal { try set("user.colour", [1], AttributeMode(create: true)) } == .exists)
    #expect(
      refusal { try set("user.big", [UInt8](repeating: 0, count: 65_537)) } == .attributeTooBig)
    #expect(refusal { try set("system.posix_acl_access", [1]) } == .invalid)
    #expect(refusal { try set("system.nfs4_acl", [1]) } == .notSupported)
    #expect(refusal { try set("nonsense", [1]) } == .notSupported)
    try set("trusted.empty", [])
    try space.remount()
    #expect(try space.fileSystem.extendedAttribute(name, of: file).count == 65_536)
    #expect(try space.fileSystem.extendedAttributeNames(of: file).count == 2)
    try space.fileSystem.removeExtendedAttribute(name, of: file)
    #expect(refusal { try space.fileSystem.extendedAttribute(name, of: file) } == .noAttribute)
  }

  @Test func programsLearnWhetherAnyFileHasASecurityLabel() throws {
    let label = Array("security.selinux".utf8)
    let files = try ["a", "b"].map { name in
      try space.write("text", to: ".p/\(name)")
      return try space.number(".p/\(name)")
    }
    func answer() -> FSError.Code? {
      refusal { try space.fileSystem.extendedAttribute(label, of: files[1]) }
    }
    #expect(answer() == .notSupported, "one answer for all files: ls -l asks no more")
    try space.fileSystem.setExtendedAttribute(
      label, to: [1], of: files[0], mode: AttributeMode())
    #expect(answer() == .noAttribute)
    try space.remount()
    #expect(try space.fileSystem.extendedAttribute(label, of: space.number(".p/a")) == [1])
    #expect(answer() == .noAttribute, "after a remount")
  }

  /// listxattr(2) returns 65,536 bytes at most, so the file system refuses names that do not fit into its
  /// list.
  @Test func namesOfExtendedAttributesStayListable() throws {
    try space.write("", to: ".p/f")
    let file = try space.number(".p/f")
    func set(_ number: Int, _ length: Int = 255, _ value: [UInt8] = []) throws {
      let name = "user.\(number)."
      try space.fileSystem.setExtendedAttribute(
        Array(name.utf8) + [UInt8](repeating: 7, count: length - name.utf8.count), to: value,
        of: file, mode: AttributeMode())
    }
    for number in 0..<255 { try set(number) }
    #expect(refusal { try set(255, 256) } == .nameTooLong)
    try set(255, 254)
    #expect(refusal { try set(256, 20) } == .noSpace)
    try set(255, 254, [1, 2, 3])
    let list = try space.fileSystem.extendedAttributeNames(of: file).reduce(0) { $0 + $1.count + 1 }
    #expect(list == 65_535)
  }

  @Test func aRemovedDirectoryTakesNoEntries() throws {
    space.keepNoDeletedFiles()
    try space.mkdir(".p/d")
    var entry: Entry? = try space.lookup(".p/d")
    let removed = try #require(entry).attributes.inode
    try space.rmdir(".p/d")
    #expect(
      refusal {
        try space.fileSystem.makeDirectory(
          FileName("x"), in: removed, permissions: 0o755, for: TestSpace.me)
      } == .notFound)
    #expect(try space.fileSystem.attributes(of: removed).links == 0, "still referred to")
    withExtendedLifetime(entry) {}
    entry = nil
    #expect(refusal { try space.fileSystem.attributes(of: removed) } == .stale)
  }
}
