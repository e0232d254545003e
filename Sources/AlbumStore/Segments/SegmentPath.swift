internal import AlbumFormat
package import AlbumModel

/// The paths of segments in a store: `segments/3f/3f9a…`, in 256 folders, so that listing one stays fast.
package enum SegmentPath {
  package static let root = "segments"

  /// All folders of segments: `segments/00` to `segments/ff`.
  package static let folders: [String] = (0..<256).map { number in
    "\(root)/\(number < 16 ? "0" : "")\(String(number, radix: 16))"
  }

  /// The folder of a segment.
  package static func directory(of name: SegmentName) -> String {
    "\(root)/\(name.text.prefix(2))"
  }

  /// True for the name of such a folder, without the path.
  static func isFolder(_ name: String) -> Bool {
    name.utf8.count == 2 && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
  }

  /// The file of a segment.
  package static func path(of name: SegmentName) -> String {
    let text = name.text
    return "\(root)/\(text.prefix(2))/\(text)"
  }
}
