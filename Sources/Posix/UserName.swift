internal import Glibc

/// The names of users.
package enum UserName {
  /// The user's name for a person: `anna`, or `user 1004` if the system knows none.
  package static func of(_ user: UInt32) -> String {
    var entry = unsafe passwd()
    var found: UnsafeMutablePointer<passwd>?
    var text = [CChar](repeating: 0, count: 1 << 14)
    let result = unsafe getpwuid_r(user, &entry, &text, text.count, &found)
    guard result == 0, unsafe found != nil, let name = unsafe entry.pw_name else {
      return "user \(user)"
    }
    return unsafe String(cString: name)
  }
}
