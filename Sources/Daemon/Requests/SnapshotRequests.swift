import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumStore
import ControlProtocol

// The requests about snapshots, on the parts of a mount.

extension Parts {
  var snapshots: [SnapshotEntry] { space.points.map { SnapshotEntry($0) } }

  func makeSnapshot(_ name: String) throws(Failure) -> [SnapshotEntry] {
    guard let label = try? FileName(name), HistoryPoint.isLabel(label) else {
      throw Failure(
        .usage,
        "\(name) cannot name a snapshot: a name has at most 100 bytes, does not begin with a dot, looks "
          + "like no time, and has none of < > : \" / \\ | ? *.")
    }
    if space.points.contains(where: { $0.name == label }) {
      throw Failure(.clash, "There is a snapshot with the name \(name).")
    }
    if !space.deletedPolicy.isOn {
      throw Failure(
        .other, "The space keeps nothing that is deleted, and so no snapshots.", remedy: .other)
    }
    do throws(StoreError) {
      try space.requireWritable()
      _ = fileSystem.publishAll()
      let point = space.makePoint(label, at: space.removalMoment(fileSystem.clock.now()))
      try space.barrier()
      return [SnapshotEntry(point)]
    } catch {
      throw Failure(error)
    }
  }

  func removeSnapshots(_ names: [String], consent: String) throws(Failure) -> ControlSummary {
    try requireConsent(consent)
    var numbers: [InodeNumber] = []
    for name in names { numbers.append(try exactPoint(name).number) }
    do throws(StoreError) {
      try space.removePoints(numbers)
      try space.barrier()
    } catch {
      throw Failure(error)
    }
    return ControlSummary(count: Set(numbers).count)
  }

  private func exactPoint(_ name: String) throws(Failure) -> HistoryPoint {
    guard let point = space.points.first(where: { $0.name.display == name }) else {
      throw Failure(.usage, "There is no snapshot \(name).")
    }
    return point
  }

  func restore(_ path: String, from name: String) throws(Failure) -> ControlSummary {
    let point = try Parts.point(name, in: space)
    let restored: PastRestored
    do throws(FSError) {
      restored = try fileSystem.restore(Array(path.utf8), at: point.number)
    } catch {
      if error.code == .notFound {
        throw Failure(.usage, "The snapshot \(point.name.display) has no \(path).")
      }
      throw Failure(error, path)
    }
    try barrier()
    return ControlSummary(
      count: restored.count,
      notes: Parts.bounded(
        restored.renamed.map { "\(text($0.path)) is back as \(text($0.newPath))." }))
  }

  /// The notes are the differences, a line each.
  func difference(from old: String, to new: String?) throws(Failure) -> ControlSummary {
    let first = try Parts.point(old, in: space)
    var second: InodeNumber?
    if let new { second = try Parts.point(new, in: space).number }
    do throws(FSError) {
      let difference = try fileSystem.difference(from: first.number, to: second)
      return ControlSummary(
        count: difference.changes.count, notes: Parts.bounded(difference.changes.map(line)))
    } catch {
      throw Failure(error, "")
    }
  }

  /// As many of some lines as one reply can have, and how many more there are.
  private static func bounded(_ lines: [String]) -> [String] {
    var bytes = 0
    let kept = lines.prefix { line in
      bytes += line.utf8.count
      return bytes <= Parts.noteByteLimit
    }
    return kept.count == lines.count ? lines : kept + ["… and \(lines.count - kept.count) more"]
  }

  /// JSON may take six bytes for one, and a message has at most 16 MiB.
  private static let noteByteLimit = 2 << 20

  private func line(_ path: [UInt8], _ change: PastDifference.Change) -> String {
    switch change {
    case .added: "+ \(text(path))"
    case .removed: "- \(text(path))"
    case .changed: "M \(text(path))"
    case .renamed(let newPath): "R \(text(path)) -> \(text(newPath))"
    }
  }

  private func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  /// The snapshot with a name, or the first from a time on.
  static func point(_ name: String, in space: Space) throws(Failure) -> HistoryPoint {
    guard let wanted = try? FileName(name) else {
      throw Failure(.usage, "\(name) names no snapshot.")
    }
    if let point = space.points.find(wanted) { return point }
    throw Failure(
      .usage,
      "There is no snapshot \(name), and none from then on: nothing was removed or changed since, or the "
        + "space does not keep it.")
  }
}

extension SnapshotEntry {
  fileprivate init(_ point: HistoryPoint) {
    self.init(
      name: point.name.display,
      time: point.wall.secondsWithFraction,
      named: point.label != nil)
  }
}
