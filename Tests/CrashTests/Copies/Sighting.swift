import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport

@testable import AlbumStore

/// The view of a copy: the files that a mount shows, and the findings of a check. Writes nothing.
struct Sighting {
  /// The files that the mount shows; nil if the mount is refused.
  private(set) var view: Snapshot?
  /// The reason for the refusal.
  private(set) var refusal = ""
  private(set) var isMountDamaged = false
  private(set) var findings: [CheckFinding] = []
  private(set) var isCheckDamaged = false
  /// The reason why no check was possible.
  private(set) var checkRefusal = ""
  /// The segments that each file was read from.
  private(set) var segments: [String: Set<String>] = [:]

  /// Mounts the copy, and with `checks` also checks it.
  init(
    _ copy: StoreCopy, _ keys: SpaceKeys, boot: BootIdentity = .unknown,
    omitting omitted: Set<Precaution> = [], checks: Bool = true
  ) {
    let disk = CopiedDisk(copy)
    do {
      let mounted = try MountedSpace(
        disk, keys, clock: TestClock(), boot: boot, omitting: omitted, readOnly: true)
      defer { mounted.kill() }
      isMountDamaged = mounted.space.status.recovery.isDamaged
      _ = disk.takeRead()
      var found: [String: Set<String>] = [:]
      view = try Snapshot(mounted, toleratesErrors: true) { found[$0] = disk.takeRead() }
      segments = found
    } catch {
      refusal = "\(error)"
    }
    if !checks { return }
    do {
      var options = CheckOptions()
      options.boot = boot
      let report = try SpaceCheck.run(CrashStore.store(on: disk), keys: keys, options: options)
      findings = report.findings
      isCheckDamaged = report.isDamaged
    } catch {
      isCheckDamaged = true
      checkRefusal = "\(error)"
    }
  }

  /// True if the check names a file.
  func names(_ path: String, _ entry: Snapshot.Entry?) -> Bool {
    findings.contains {
      $0.path == path || $0.inode != nil && $0.inode == entry?.state.number.rawValue
    }
  }

  /// History is cut as after a power cut: a fault where there was none.
  var cutFault: [Fault] {
    findings.filter { $0.detail == .changesCut }.prefix(1).map {
      Fault("history is cut within one start of the machine", "\($0)")
    }
  }

  /// The files without a name in the store, to which `check --repair` gives one.
  var nameless: Set<InodeNumber> {
    Set(findings.filter { $0.kind == .orphan }.compactMap { $0.inode.map { InodeNumber($0) } })
  }

  /// Describes the difference between two sightings of the same bytes, which should not differ.
  func difference(from other: Sighting) -> String? {
    if (view == nil) != (other.view == nil) { return "one mounts: \(refusal)\(other.refusal)" }
    if let view, let seen = other.view, view != seen { return view.difference(from: seen) }
    // Not by their texts: a finding has sets, which print in any order.
    let alone =
      findings.filter { !other.findings.contains($0) }
      + other.findings.filter { !findings.contains($0) }
    if !alone.isEmpty || findings.count != other.findings.count {
      return "one check alone says \(alone)"
    }
    if isCheckDamaged != other.isCheckDamaged { return "one check says that it is damaged" }
    if isMountDamaged != other.isMountDamaged { return "one mount says that it is damaged" }
    return nil
  }
}
