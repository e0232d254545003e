internal import AlbumFormat
internal import AlbumModel

/// The names of a store's files (Format.md, "The directory").
enum StoreNames {
  static let configurations = ["albumfs.conf", "albumfs.conf.bak"]
  static let keys = "keys"
  static let segments = "segments/"
  /// Is there while a copy is not complete, with the conf of the source.
  static let unfinished = "albumfs.copying"

  /// True for `segments/3f/3f9a…`.
  static func isSegment(_ name: String) -> Bool {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    return parts.count == 3 && parts[0] == "segments" && parts[1].utf8.count == 2
      && parts[2].hasPrefix(parts[1]) && SegmentName(text: String(parts[2])) != nil
  }
}

extension ObjectStore {
  /// True if a copy into this place was interrupted, or still runs.
  package func holdsUnfinishedCopy() throws(ObjectError) -> Bool {
    try hasObjects(StoreNames.unfinished)
  }
}

extension StoreConfiguration {
  /// True if both are of one store: no two stores ever draw the same salt.
  func isOfSameStore(as other: StoreConfiguration) -> Bool {
    segmentSize == other.segmentSize
      && derivations.contains { own in other.derivations.contains { $0.salt == own.salt } }
  }
}
