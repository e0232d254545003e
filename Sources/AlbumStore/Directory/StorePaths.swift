internal import AlbumFormat
package import AlbumModel
internal import Posix

/// The small files of a store.
enum StorePath {
  static let configuration = "albumfs.conf"
  static let configurationTwin = "albumfs.conf.bak"
  static let keys = "keys"

  static let small = [keys, configuration, configurationTwin]
  /// None of them is longer.
  static let smallLimit = max(
    StoreConfiguration.maximumByteCount, KeySlot.maximumCount * KeySlot.byteCount)
}

/// Where segments lie in a store: `segments/3f/3f9a…`, 256 folders at most so that none gets so
/// long that listing it hurts.
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

extension StorageDirectory {
  /// The names of all segments, whosever they are: reads every folder of segments. `misplaced` is told of
  /// what lies in the place of a folder and is none.
  func segmentNames(misplaced: (String, Errno) -> Void = { _, _ in }) throws(StoreError)
    -> Set<SegmentName>
  {
    var names: Set<SegmentName> = []
    do throws(Errno) {
      for folder in try list(SegmentPath.root) where SegmentPath.isFolder(folder) {
        let path = "\(SegmentPath.root)/\(folder)"
        do throws(Errno) {
          for file in try list(path) where file.hasPrefix(folder) {
            if let name = SegmentName(text: file) { names.insert(name) }
          }
        } catch {
          if !error.isMisplaced { throw error }
          misplaced(path, error)
        }
      }
    } catch {
      throw StoreError(reading: SegmentPath.root, error)
    }
    return names
  }
}
