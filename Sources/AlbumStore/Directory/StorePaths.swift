internal import AlbumFormat
package import AlbumModel
internal import Posix

/// The small files of a store.
package enum StorePath {
  package static let configuration = "albumfs.conf"
  package static let configurationTwin = "albumfs.conf.bak"
  package static let keys = "keys"
  /// Empty, and there only while `init` makes the store.
  package static let unfinished = "albumfs.unfinished"

  static let small = [keys, configuration, configurationTwin]
  /// None of them is longer.
  static let smallLimit = max(
    StoreConfiguration.maximumByteCount, KeySlot.maximumCount * KeySlot.byteCount)
}

/// The paths of segments in a store: `segments/3f/3f9a…`. There are 256 folders, so that none gets too long
/// to list.
package enum SegmentPath {
  package static let root = "segments"

  /// All folders of segments: `segments/00` to `segments/ff`.
  static let folders: [String] = (0..<256).map { number in
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
  /// Returns the names of all segments in the store, from every folder. Calls `misplaced` for each object of
  /// another type in the place of a folder.
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

// Reads and writes the store's small files as a whole.

extension StorageDirectory {
  /// Creates a file with these bytes. When this returns, the content is on disk; the name needs a
  /// `syncDirectory`. Removes the file if it fails.
  func writeNew(_ path: String, _ bytes: [UInt8]) throws(StoreError) {
    let file: any StorageFile
    do throws(Errno) { file = try open(path, .createNew) } catch {
      throw StoreError("make", path, error)
    }
    do throws(Errno) {
      try file.writeAll(bytes)
      try file.setModificationTime(SegmentChecksum.time(ofSmallFile: bytes))
      try file.sync()
    } catch {
      try? remove(path)
      throw StoreError(writing: path, error)
    }
  }

  func syncDirectoryOfStore() throws(StoreError) {
    do throws(Errno) { try syncDirectory("") } catch { throw StoreError(syncing: "", error) }
  }
}
