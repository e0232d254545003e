import AlbumModel
import PictureMetadata
import Posix

/// Finds the day of a group of files: that of its photo, as the camera's clock showed it.
///
/// Films often state only UTC. Their local day comes from the zone that the user gives, else from a photo
/// of the same folder that was taken within a day and states its distance from UTC, else from the machine's
/// zone.
struct ImportDates {
  /// True if the user gave a zone, which is that of the process then.
  private let hasZone: Bool
  private var dates: [PlainPath: FileDate?] = [:]
  private var offsets: [PlainPath: KnownOffsets] = [:]
  /// The groups of each folder, of which a film may need the dates.
  private var folders: [PlainPath: [TransferGroup]] = [:]

  init(_ groups: [TransferGroup], hasZone: Bool) {
    self.hasZone = hasZone
    for group in groups { folders[ImportDates.folder(of: group), default: []].append(group) }
  }

  /// `YYYY-MM-DD`. Without a date, the modification time of the photo counts.
  mutating func day(of group: TransferGroup) -> FileName {
    let day: String
    if let date = date(of: group) {
      let beside =
        date.isWorldTime ? offsets(in: ImportDates.folder(of: group)) : KnownOffsets(of: [])
      day = date.day(beside: beside, machineDay: SystemClock.localDay)
    } else {
      day = SystemClock.localDay(seconds: group.items[0].file.entry.modified.seconds)
    }
    return FileName(known: Array(day.utf8))
  }

  /// What the photo states, else what the others of the group state, else what a name says.
  private mutating func date(of group: TransferGroup) -> FileDate? {
    for item in group.items {
      if let stated = stated(item.file) { return stated.refined(by: item.file.name.bytes) }
    }
    return group.items.lazy.compactMap { FileDate(in: $0.file.name.bytes) }.first
  }

  private mutating func stated(_ file: SourceWalk.File) -> FileDate? {
    if let known = dates[file.path] { return known }
    let found = file.statedDate
    dates.updateValue(found, forKey: file.path)
    return found
  }

  /// Empty where the user gave a zone.
  private mutating func offsets(in folder: PlainPath) -> KnownOffsets {
    if let known = offsets[folder] { return known }
    let photos = hasZone ? [] : folders[folder] ?? []
    var dates: [FileDate] = []
    for photo in photos {
      if let date = stated(photo.items[0].file) { dates.append(date) }
    }
    let found = KnownOffsets(of: dates)
    offsets[folder] = found
    return found
  }

  private static func folder(of group: TransferGroup) -> PlainPath {
    group.items[0].file.path.parent
  }
}
