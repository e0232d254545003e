package import AlbumFormat
package import AlbumModel
package import AlbumSecrets
import AlbumStore
package import Posix

extension SpaceKeys {
  /// The path of a segment, of any birth, among the files of a store; nil if it is missing.
  package func path(
    _ kind: SegmentKind, _ number: SegmentNumber, among paths: some Sequence<String>
  ) -> String? {
    paths.first { path in
      guard let found = segment(at: path) else { return false }
      return found.kind == kind && found.number == number
    }
  }

  /// The numbers of a kind's segments among the files of a store, rising.
  package func numbers(_ kind: SegmentKind, among paths: some Sequence<String>) -> [SegmentNumber] {
    paths.compactMap { segment(at: $0) }.filter { $0.kind == kind }.map(\.number).sorted()
  }

  /// The segment of this space that a file is; nil if it is none.
  package func segment(at path: String) -> (
    kind: SegmentKind, number: SegmentNumber, birth: SegmentBirth
  )? {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    return SegmentName(text: file).flatMap { segment(named: $0) }
  }
}

extension StorageDirectory {
  /// Paths of all segments, of any space.
  package func segmentPaths() -> [String] {
    let folders = (try? list(SegmentPath.root)) ?? []
    return folders.flatMap { folder in
      ((try? list("\(SegmentPath.root)/\(folder)")) ?? []).map {
        "\(SegmentPath.root)/\(folder)/\($0)"
      }
    }
  }
}
