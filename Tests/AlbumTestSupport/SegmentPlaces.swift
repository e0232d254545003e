package import AlbumFormat
package import AlbumModel
package import AlbumSecrets
import AlbumStore
package import Posix

extension SpaceKeys {
  /// Where a segment lies, whatever its birth, among the files of a store; nil where it is not there.
  package func path(
    _ kind: SegmentKind, _ number: SegmentNumber, among paths: some Sequence<String>
  ) -> String? {
    paths.first { path in
      guard let found = segment(at: path) else { return false }
      return found.kind == kind && found.number == number
    }
  }

  /// The numbers of the segments of a kind among the files of a store, rising.
  package func numbers(_ kind: SegmentKind, among paths: some Sequence<String>) -> [SegmentNumber] {
    paths.compactMap { segment(at: $0) }.filter { $0.kind == kind }.map(\.number).sorted()
  }

  /// Which segment of this space a file is; nil where it is none.
  package func segment(at path: String) -> (
    kind: SegmentKind, number: SegmentNumber, birth: SegmentBirth
  )? {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    return SegmentName(text: file).flatMap { segment(named: $0) }
  }
}

extension StorageDirectory {
  /// Paths of all segments, whosever they are.
  package func segmentPaths() -> [String] {
    let folders = (try? list(SegmentPath.root)) ?? []
    return folders.flatMap { folder in
      ((try? list("\(SegmentPath.root)/\(folder)")) ?? []).map {
        "\(SegmentPath.root)/\(folder)/\($0)"
      }
    }
  }
}
