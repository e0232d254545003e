internal import Glibc

private let toothName: String =
  unsafe getenv("ALBUMFS_TOOTH").map { unsafe String(cString: $0) } ?? ""
package func tooth(_ name: String) -> Bool { toothName == name }
