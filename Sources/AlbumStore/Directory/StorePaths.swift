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
  static let folders: [String] = (UInt8.min...UInt8.max).map { number in
    "\(root)/\(Hexadecimal.text(number))"
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

/// What listing the folders of segments found.
struct SegmentFolders: Sendable {
  /// The names of all segments.
  var names: Set<SegmentName> = []
  /// The folders whose times are not those at rest.
  var unsettled: Set<String> = []
  /// Objects of another type in the place of a folder.
  var misplaced: [String: Errno] = [:]
  fileprivate var failure: StoreError?
}

extension StorageDirectory {
  /// How many folders are used at once: each costs some round trips to a server.
  var lanes: Int { kind.isLocal ? 1 : 32 }

  /// Lists the folders of segments, all of them.
  func segmentFolders() throws(StoreError) -> SegmentFolders {
    let found = Mutex(SegmentFolders(), rank: .leaf)
    let folders: [String]
    do throws(Errno) { folders = try list(SegmentPath.root).filter(SegmentPath.isFolder) } catch {
      throw StoreError(reading: SegmentPath.root, error)
    }
    inLanes(lanes, folders) { folder in
      let path = "\(SegmentPath.root)/\(folder)"
      do throws(Errno) {
        let (files, times) = try self.listWithTimes(path)
        let names = files.filter { $0.hasPrefix(folder) }.compactMap(SegmentName.init(text:))
        found.withLock {
          $0.names.formUnion(names)
          if let times, !RestingTimes.isAtRest(times) { $0.unsettled.insert(path) }
        }
      } catch {
        found.withLock {
          if error.isMisplaced {
            $0.misplaced[path] = error
          } else {
            $0.failure = StoreError(listing: path, error)
          }
        }
      }
    }
    let result = found.withLock { $0 }
    if let failure = result.failure { throw failure }
    return result
  }

  /// The names of all segments in the store, from every folder.
  func segmentNames() throws(StoreError) -> Set<SegmentName> { try segmentFolders().names }
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
