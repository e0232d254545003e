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
}

extension StorageDirectory {
  /// How many folders are used at once: each costs some round trips to a server.
  var lanes: Int { kind.isLocal ? 1 : 32 }

  /// Lists the folders of segments, all of them.
  func segmentFolders() throws(StoreError) -> SegmentFolders {
    let folders: [String]
    do throws(Errno) { folders = try list(SegmentPath.root).filter(SegmentPath.isFolder) } catch {
      throw StoreError(reading: SegmentPath.root, error)
    }
    let found = try inLanes(lanes, folders) { folder throws(StoreError) in
      try self.segmentFolder(folder)
    }
    var all = SegmentFolders()
    for one in found {
      all.names.formUnion(one.names)
      all.unsettled.formUnion(one.unsettled)
      all.misplaced.merge(one.misplaced) { $1 }
    }
    return all
  }

  private func segmentFolder(_ folder: String) throws(StoreError) -> SegmentFolders {
    let path = "\(SegmentPath.root)/\(folder)"
    var found = SegmentFolders()
    do throws(Errno) {
      let (files, times) = try listWithTimes(path)
      found.names.formUnion(
        files.filter { $0.hasPrefix(folder) }.compactMap(SegmentName.init(text:)))
      if let times, !RestingTimes.isAtRest(times) { found.unsettled.insert(path) }
    } catch {
      if !error.isMisplaced { throw StoreError(listing: path, error) }
      found.misplaced[path] = error
    }
    return found
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
