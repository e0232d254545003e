import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport

@testable import AlbumCheck
@testable import AlbumStore

// Compares the findings of a check of a damaged store with what a mount of it shows. The check names exactly
// the bytes that cannot be read, by every name, and otherwise only what a lost frame described.

extension SampleStore {
  /// Returns the faults of a check's findings. `mounted` shows the same, unchanged store. `reach` is what
  /// lost frames may have described, and `hit` are files with lost records.
  func namingFaults(
    _ store: FrozenStore, _ mounted: MountedAlbums, _ reach: Reach = Reach(),
    hit: Set<InodeNumber> = []
  ) throws -> [String] {
    let disk = DamagedDisk(store)
    let report = try disk.check(keys)
    var faults = disk.frozen() == store ? [] : ["the check wrote to the store"]
    let said = report.unreadableStretches
    faults += try differences(said, mounted) + unsaidNames(report, mounted)
    let affected = reach.inodes.union(said.keys)
    for finding in report.findings where finding.severity == .damage {
      if let fault = fault(finding, mounted, reach, affected) { faults.append(fault) }
    }
    if mounted.space.status.recovery.isDamaged, !report.isDamaged {
      faults.append("the mount reports damage, and the check finds none")
    }
    // Nothing shows that history had been longer.
    if reach.instants.contains(mounted.space.observe()) { return faults }
    // Nobody can notice content of which neither a frame nor a record is left.
    return faults + (try unnamedLosses(report, mounted, silent: reach.inodes.intersection(hit)))
  }

  /// Returns the stretches of files that a check reports as unreadable and that can be read, and the reverse.
  private func differences(_ said: [InodeNumber: [Range<Int64>]], _ mounted: MountedAlbums) throws
    -> [String]
  {
    var faults: [String] = []
    for (inode, size) in mounted.files {
      guard let ranges = said[inode] else {
        if try mounted.content(of: inode) == nil {
          faults.append("inode \(inode.rawValue) does not read and is not named")
        }
        continue
      }
      var position: Int64 = 0
      for range in ranges + [size..<size] {
        if range.lowerBound > position,
          try mounted.content(of: inode, position..<range.lowerBound) == nil
        {
          faults.append("inode \(inode.rawValue) does not read before \(range), which is not named")
        }
        for start in stride(from: range.lowerBound, to: range.upperBound, by: 16_384) {
          let piece = start..<min(start + 16_384, range.upperBound)
          if try mounted.content(of: inode, piece) != nil {
            faults.append("inode \(inode.rawValue) reads at \(start), and \(range) is named")
          }
        }
        position = range.upperBound
      }
    }
    for inode in said.keys where mounted.files[inode] == nil {
      faults.append("inode \(inode.rawValue) is named as unreadable, and is not there")
    }
    return faults
  }

  private func wasThumbnail(_ inode: InodeNumber) -> Bool {
    (states + killedStates).contains { state in
      state.items.values.contains { $0.inode == inode && $0.photo != nil }
    }
  }

  /// Returns unreadable files that the check does not name by every name; a file with links has several.
  private func unsaidNames(_ report: CheckReport, _ mounted: MountedAlbums) -> [String] {
    let unreadable = report.findings.filter(\.isUnreadable)
    let inodes = Set(unreadable.compactMap { $0.inode.map { InodeNumber($0) } })
    let names = mounted.space.observe().items.filter {
      $0.value.photo == nil && inodes.contains($0.value.inode)
    }
    return Set(names.keys.map { String($0.dropFirst()) })
      .subtracting(unreadable.compactMap(\.path)).map { "\($0) is not named" }
  }

  /// Returns why a finding is wrong. The check may also report older content of a file that cannot be read
  /// anyway.
  private func fault(
    _ finding: CheckFinding, _ mounted: MountedAlbums, _ reach: Reach,
    _ affected: Set<InodeNumber>
  ) -> String? {
    let inode = finding.inode.map { InodeNumber($0) }
    if finding.isUnreadable {
      guard let inode, let path = finding.path else { return "\(finding) names nobody" }
      if (try? mounted.number(path)) == inode { return nil }
      if path.hasSuffix(" (deleted)"), mounted.deleted.contains(inode) { return nil }
      return path.hasPrefix("(inode") ? nil : "\(path) does not lead to inode \(inode.rawValue)"
    }
    if let inode {
      // A thumbnail that went with its content may come back, because its records do not say what it was.
      if finding.kind == .lostFile, wasThumbnail(inode) { return nil }
      return affected.contains(inode) ? nil : "\(finding) was not touched"
    }
    guard let path = finding.path else { return nil }
    let wasTouched = (states + killedStates).contains { state in
      state.items["/" + path].map { !reach.spares($0) } ?? false
    }
    return wasTouched ? nil : "\(finding) was not touched"
  }

  /// Returns files that the check does not name although records hold newer content than the mount shows.
  private func unnamedLosses(
    _ report: CheckReport, _ mounted: MountedAlbums, silent: Set<InodeNumber>
  ) throws -> [String] {
    let named = report.namedInodes
    var faults: [String] = []
    for (path, item) in newest.items
    where item.state.kind == .regular && !named.contains(item.inode)
      && !silent.contains(item.inode)
    {
      let isThere = mounted.files[item.inode] != nil
      if isThere, try mounted.content(of: item.inode) == newestContents[item.inode] { continue }
      faults.append("\(path) (inode \(item.inode.rawValue)) has lost something, and is not named")
    }
    return faults
  }
}

extension DamagedDisk {
  /// Checks the space like `albumfs check`.
  func check(_ keys: SpaceKeys) throws -> CheckReport {
    try SpaceCheck.run(Store(directory: self, segmentSize: SampleStore.segmentSize), keys: keys)
  }
}

extension CheckFinding {
  /// True if it reports unreadable content.
  var isUnreadable: Bool { kind == .unreadableContent || kind == .unreadableThumbnail }
}

extension CheckReport {
  /// The files that damage affects.
  var namedInodes: Set<InodeNumber> {
    Set(findings.filter { $0.severity == .damage }.compactMap { $0.inode.map { InodeNumber($0) } })
  }

  /// The ranges that the check reports as unreadable, by file, sorted.
  var unreadableStretches: [InodeNumber: [Range<Int64>]] {
    var stretches: [InodeNumber: [Range<Int64>]] = [:]
    for finding in findings where finding.isUnreadable {
      stretches[InodeNumber(finding.inode ?? 0), default: []] += finding.ranges
    }
    for inode in stretches.keys { stretches[inode]?.joinNeighbours() }
    return stretches
  }
}
