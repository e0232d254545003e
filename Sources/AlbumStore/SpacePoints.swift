package import AlbumFormat
package import AlbumModel

// The points in time at which a space shows its tree.

extension Space {
  package var points: [HistoryPoint] { read { $0.points } }

  /// Makes a point with a label.
  package func makePoint(_ label: FileName, at moment: RemovalMoment) -> HistoryPoint {
    change { $0.makePoint(at: moment, label: label) }
  }

  /// Removes points, and what only they needed.
  package func removePoints(_ numbers: [InodeNumber]) throws(StoreError) {
    try context.health.requireWritable()
    try compactor.removePoints(numbers)
  }
}
