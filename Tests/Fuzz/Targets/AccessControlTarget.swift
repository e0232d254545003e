@testable import AlbumFileSystem

/// The value of an attribute that is an ACL, as any program sets it and as a catalog keeps it. Two bytes of
/// permissions come first.
enum AccessControlTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    func list(_ entries: (UInt8, UInt8, UInt8)...) -> [UInt8] {
      entries.reduce([0o55, 1, 2, 0, 0, 0]) { $0 + [$1.0, 0, $1.1, 0, $1.2, 0, 0, 0] }
    }
    return [
      list((1, 7, 0), (2, 7, 7), (4, 5, 0), (8, 1, 9), (16, 7, 0), (32, 0, 0)),
      list((1, 6, 0), (4, 4, 0), (32, 4, 0)), list(),
    ]
  }

  static func run(_ bytes: [UInt8]) {
    if bytes.count < 2 { return }
    let permissions = UInt16(bytes[0]) | UInt16(bytes[1]) << 8
    let value = Array(bytes.dropFirst(2))
    guard var list = AccessControlList(value) else { return }
    require(list.bytes == value, "an ACL has one spelling")
    if list.isEmpty { return }
    require(list.permissions & ~0o777 == 0, "an ACL sets permission bits only")
    let before = list.permissions
    var adopting = list
    adopting.adopt(permissions)
    require(adopting.permissions == permissions & 0o777, "chmod and the ACL say the same")
    require(AccessControlList(adopting.bytes) != nil, "an ACL stays one when its file is changed")
    let left = list.restrict(to: permissions)
    require(left & ~(before & permissions) == 0, "a new file gets no right that was not asked for")
    require(AccessControlList(list.bytes) != nil, "an ACL stays one when it is inherited")
  }
}
