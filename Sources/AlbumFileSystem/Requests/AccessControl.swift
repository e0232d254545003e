import AlbumFormat
import AlbumModel
import AlbumStore

// POSIX ACLs. The kernel enforces them; the file system stores them, keeps them in step with the permission
// bits, and gives a new inode those of its directory.

/// Rules of POSIX ACLs in a catalog. Two extended attributes of an inode hold its ACLs.
package enum AccessControl {
  /// The ACL that the kernel checks. An inode has it only if it says more than the permission bits.
  package static let accessName = Array("system.posix_acl_access".utf8)
  /// The ACL of a directory that new inodes in it inherit.
  static let defaultName = Array("system.posix_acl_default".utf8)

  package static func isName(_ name: [UInt8]) -> Bool {
    name == accessName || name == defaultName
  }

  /// The value of one of the two attributes; nil if there is none. The entries of an access ACL for owner,
  /// mask and others are the permission bits, so that chmod(2) changes both.
  static func value(_ name: [UInt8], of index: InodeIndex, _ catalog: borrowing Catalog) -> [UInt8]?
  {
    guard let stored = catalog.attribute(name, of: index) else { return nil }
    guard name == accessName, var list = AccessControlList(stored) else { return stored }
    list.adopt(catalog.state(index).permissions)
    return list.bytes
  }

  /// Stores one of the two. An access ACL also sets the permission bits, and is not stored if it says no more
  /// than they do. Throws `.invalid` for bytes that are no ACL, and for a default ACL of a file.
  static func set(
    _ name: [UInt8], to value: [UInt8], of index: InodeIndex, _ catalog: inout Catalog
  ) throws(FSError) {
    let state = catalog.state(index)
    guard let list = AccessControlList(value), state.kind != .symlink,
      name == accessName || state.isDirectory
    else { throw FSError(.invalid) }
    if name == defaultName || list.isEmpty {
      catalog.setAttribute(name, of: index, to: list.isEmpty ? nil : value)
      return
    }
    let permissions = list.permissions
    catalog.update(index) { $0.permissions = $0.permissions & ~0o777 | permissions }
    setOrDrop(accessName, list.isMinimal ? nil : value, of: index, &catalog)
  }

  /// The permissions and the ACLs that a new inode inherits from its directory.
  struct Inheritance {
    var permissions: UInt16
    fileprivate var access: [UInt8]?
    fileprivate var forChildren: [UInt8]?
  }

  /// A default ACL of the directory replaces the umask.
  static func inheritance(
    _ kind: FileKind, _ permissions: UInt16, umask: UInt16, in directory: InodeIndex,
    _ catalog: borrowing Catalog
  ) -> Inheritance {
    if kind == .symlink { return Inheritance(permissions: permissions) }
    guard let stored = catalog.attribute(defaultName, of: directory),
      var list = AccessControlList(stored)
    else { return Inheritance(permissions: permissions & ~umask) }
    let left = list.restrict(to: permissions)
    return Inheritance(
      permissions: permissions & ~0o777 | left, access: list.isMinimal ? nil : list.bytes,
      forChildren: kind == .directory ? stored : nil)
  }

  static func apply(
    _ inheritance: Inheritance, to index: InodeIndex, _ catalog: inout Catalog
  ) {
    setOrDrop(accessName, inheritance.access, of: index, &catalog)
    setOrDrop(defaultName, inheritance.forChildren, of: index, &catalog)
  }

  /// Gives an inode that albumfs makes the ACLs of its model. Without them the group would get what the mask
  /// of the model grants.
  static func copy(from model: InodeIndex, to index: InodeIndex, _ catalog: inout Catalog) {
    let names = catalog.state(index).isDirectory ? [accessName, defaultName] : [accessName]
    for name in names {
      setOrDrop(name, catalog.attribute(name, of: model), of: index, &catalog)
    }
  }

  private static func setOrDrop(
    _ name: [UInt8], _ value: [UInt8]?, of index: InodeIndex, _ catalog: inout Catalog
  ) {
    if catalog.attribute(name, of: index) != value {
      catalog.setAttribute(name, of: index, to: value)
    }
  }
}

/// One ACL, in the kernel's format: a version of 4 bytes, then 8 bytes for each entry (tag, permissions, id),
/// all little-endian.
struct AccessControlList {
  private enum Tag {
    static let owner: UInt16 = 0x01
    static let user: UInt16 = 0x02
    static let group: UInt16 = 0x04
    static let namedGroup: UInt16 = 0x08
    static let mask: UInt16 = 0x10
    static let others: UInt16 = 0x20
  }
  private struct Grant {
    var tag: UInt16
    var permissions: UInt16
    var id: UInt32
  }
  private static let version: [UInt8] = [2, 0, 0, 0]

  private var entries: [Grant] = []

  /// nil for bytes that are no valid ACL: it needs one entry each for owner, group and others, and a mask if
  /// it names anybody.
  init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: AccessControlList.version), bytes.count % 8 == 4 else { return nil }
    for start in stride(from: 4, to: bytes.count, by: 8) {
      func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type) -> Number {
        (0..<MemoryLayout<Number>.size).reduce(0) {
          $0 | Number(truncatingIfNeeded: bytes[start + offset + $1]) << (8 * $1)
        }
      }
      entries.append(
        Grant(
          tag: number(0, UInt16.self), permissions: number(2, UInt16.self),
          id: number(4, UInt32.self)))
    }
    if !isEmpty && !isValid { return nil }
  }

  private var isValid: Bool {
    func count(_ tag: UInt16) -> Int { entries.count { $0.tag == tag } }
    let named = count(Tag.user) + count(Tag.namedGroup)
    let single = count(Tag.owner) == 1 && count(Tag.group) == 1 && count(Tag.others) == 1
    let masks = count(Tag.mask)
    return single && masks <= 1 && (named == 0 || masks == 1)
      && entries.count == named + masks + 3 && entries.allSatisfy { $0.permissions & ~7 == 0 }
  }

  var bytes: [UInt8] {
    var bytes = AccessControlList.version
    func add<Number: FixedWidthInteger>(_ number: Number) {
      for place in 0..<MemoryLayout<Number>.size {
        bytes.append(UInt8(truncatingIfNeeded: number >> (8 * place)))
      }
    }
    for entry in entries {
      add(entry.tag)
      add(entry.permissions)
      add(entry.id)
    }
    return bytes
  }

  /// An ACL without entries is none.
  var isEmpty: Bool { entries.isEmpty }

  /// True if the permission bits say the same.
  var isMinimal: Bool { entries.count <= 3 }

  /// The permission bits that go with it: those of the group are the mask, if there is one.
  var permissions: UInt16 {
    entries.reduce(0) { sum, entry in
      sum | (shift(of: entry.tag).map { entry.permissions << $0 } ?? 0)
    }
  }

  /// Takes the permission bits over.
  mutating func adopt(_ permissions: UInt16) {
    for place in entries.indices {
      guard let shift = shift(of: entries[place].tag) else { continue }
      entries[place].permissions = permissions >> shift & 7
    }
  }

  /// Keeps only the permissions that the creator of an inode requested. Returns the resulting permission
  /// bits.
  mutating func restrict(to permissions: UInt16) -> UInt16 {
    adopt(permissions & self.permissions)
    return self.permissions
  }

  /// Returns the position of an entry in the permission bits; nil if they do not hold it.
  private func shift(of tag: UInt16) -> UInt16? {
    switch tag {
    case Tag.owner: 6
    case Tag.mask: 3
    case Tag.group: entries.contains { $0.tag == Tag.mask } ? nil : 3
    case Tag.others: 0
    default: nil
    }
  }
}
