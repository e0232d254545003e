internal import Glibc

/// The names of users.
package enum UserName {
  /// The user's name for a person: `anna`, or `user 1004` if the system knows none.
  package static func of(_ user: UInt32) -> String { known(user) ?? "user \(user)" }

  /// The user for a command that takes a name or a number: `anna`, or `1004`.
  package static func word(for user: UInt32) -> String { known(user) ?? String(user) }

  /// nil if the system knows no such user.
  package static func number(of name: String) -> UInt32? {
    var entry = unsafe passwd()
    var found: UnsafeMutablePointer<passwd>?
    var text = [CChar](repeating: 0, count: textSize)
    let result = unsafe getpwnam_r(name, &entry, &text, text.count, &found)
    guard result == 0, unsafe found != nil else { return nil }
    return unsafe entry.pw_uid
  }

  private static func known(_ user: UInt32) -> String? {
    var entry = unsafe passwd()
    var found: UnsafeMutablePointer<passwd>?
    var text = [CChar](repeating: 0, count: textSize)
    let result = unsafe getpwuid_r(user, &entry, &text, text.count, &found)
    guard result == 0, unsafe found != nil, let name = unsafe entry.pw_name else { return nil }
    return unsafe String(cString: name)
  }
}

/// The names of groups.
package enum GroupName {
  /// nil if the system knows no such group.
  package static func number(of name: String) -> UInt32? {
    var entry = unsafe group()
    var found: UnsafeMutablePointer<group>?
    var text = [CChar](repeating: 0, count: textSize)
    let result = unsafe getgrnam_r(name, &entry, &text, text.count, &found)
    guard result == 0, unsafe found != nil else { return nil }
    return unsafe entry.gr_gid
  }
}

/// Room for the texts of one entry. A group may have many members.
private let textSize = 1 << 16
