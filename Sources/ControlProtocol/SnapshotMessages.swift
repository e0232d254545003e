// What commands and daemon say about snapshots: the points in time at which a space shows its tree.

/// One snapshot. Its JSON form is part of the output of `albumfs snapshot list --json`.
package struct SnapshotEntry: Codable, Sendable, Equatable {
  /// The directory in `.snapshots`: the name that the user gave, or the time in UTC.
  package var name: String
  /// In seconds since 1970.
  package var time: Double
  /// True if it stays until the user removes it.
  package var named: Bool
  package init(name: String, time: Double, named: Bool) {
    self.name = name
    self.time = time
    self.named = named
  }
}
