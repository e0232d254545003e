import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport

@testable import AlbumStore

/// Examines a repaired store: it mounts, a check finds nothing to repair, and every file that was shown whole
/// is there under its name or in `Recovered`.
enum RepairExamination {
  static func faults(
    _ copy: StoreCopy, _ keys: SpaceKeys, boot: BootIdentity, before: Sighting
  ) -> [Fault] {
    let disk = CopiedDisk(copy)
    let store = CrashStore.store(on: disk)
    do {
      var options = CheckOptions()
      options.boot = boot
      options.repairs = true
      _ = try SpaceCheck.run(store, keys: keys, options: options)
      options.repairs = false
      let report = try SpaceCheck.run(store, keys: keys, options: options)
      if report.wantsRepair {
        return [Fault("there is something to repair after a repair", "\(report.findings)")]
      }
    } catch {
      return [Fault("a repair fails", "\(error)")]
    }
    let after = Sighting(disk.copy, keys, boot: boot, checks: false)
    guard let view = after.view else {
      return [Fault("what was repaired does not mount", after.refusal)]
    }
    guard let former = before.view else { return [] }
    let contents = Set(view.entries.filter { view.unreadable[$0.key] == nil }.map(\.value.content))
    return former.entries.sorted { $0.key < $1.key }.compactMap { path, entry in
      if entry.state.kind != .regular || Timeline.isThumbnail(path) { return nil }
      if former.unreadable[path] != nil || contents.contains(entry.content) { return nil }
      return Fault("a repair loses a file", path)
    }
  }
}
