/// The paths whose traces albumfs looks for: everything at and below one mount point, in each of its
/// spellings.
package struct TracedTree: Sendable, Equatable {
  /// Absolute paths as bytes, without `.`, `..`, double slashes and a slash at the end.
  package let roots: [[UInt8]]

  /// nil if a path is relative or is the root directory, of which everything would be a trace.
  package init?(_ paths: [String]) {
    var roots: [[UInt8]] = []
    for path in paths {
      guard path.hasPrefix("/"), let root = TracedTree.normal(Array(path.utf8)), root.count > 1
      else { return nil }
      if !roots.contains(root) { roots.append(root) }
    }
    if roots.isEmpty { return nil }
    self.roots = roots
  }

  /// The part of a path below the root that it lies in, without a slash at its beginning; empty for the root
  /// itself. nil if the path lies in no root: `/a/Album2` does not lie in `/a/Album`.
  package func inside(_ path: [UInt8]) -> [UInt8]? {
    guard let path = TracedTree.normal(path) else { return nil }
    for root in roots where path.starts(with: root) {
      if path.count == root.count { return [] }
      if path[root.count] == UInt8(ascii: "/") { return Array(path[(root.count + 1)...]) }
    }
    return nil
  }

  /// The same for a `file:` URI, and for one of gvfs' `trash:`.
  package func inside(uri: [UInt8]) -> [UInt8]? {
    (FileURI.path(uri) ?? FileURI.trashedPath(uri)).flatMap { inside($0) }
  }

  /// True if a root lies at or below a path.
  package func lies(in path: String) -> Bool {
    guard let outer = TracedTree.normal(Array(path.utf8)) else { return false }
    return roots.contains { root in
      outer.count == 1 || root == outer
        || root.starts(with: outer) && root[outer.count] == UInt8(ascii: "/")
    }
  }

  /// An absolute path without `.`, `..` and double slashes, by its spelling alone; nil for a relative path.
  static func normal(_ path: [UInt8]) -> [UInt8]? {
    let slash = UInt8(ascii: "/")
    let dot = UInt8(ascii: ".")
    guard path.first == slash else { return nil }
    var parts: [ArraySlice<UInt8>] = []
    for part in path.split(separator: slash) where part != [dot] {
      if part == [dot, dot] { _ = parts.popLast() } else { parts.append(part) }
    }
    return parts.isEmpty ? [slash] : parts.flatMap { [slash] + $0 }
  }
}
