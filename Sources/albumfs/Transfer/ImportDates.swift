import AlbumModel
import PictureMetadata
import Posix

/// Finds the day of a group of files: that of its photo, as the camera's clock showed it.
///
/// Films often state only UTC. Their local day comes from the zone that the user gives, else from a photo
/// of the same folder that was taken within a day and states its distance from UTC, else from the machine's
/// zone.
struct ImportDates {
  private let takeout: Takeout
  /// True if the user gave a zone, which is that of the process then.
  private let hasZone: Bool
  private var dates: [PlainPath: FileDate?] = [:]
  private var offsets: [PlainPath: KnownOffsets] = [:]
  /// The groups of each folder, of which a film may need the dates.
  private var folders: [PlainPath: [TransferGroup]] = [:]

  init(_ groups: [TransferGroup], _ takeout: Takeout, hasZone: Bool) {
    self.takeout = takeout
    self.hasZone = hasZone
    for group in groups { folders[group.folder, default: []].append(group) }
  }

  /// `YYYY-MM-DD`. Without a date, the modification time of the photo counts.
  mutating func day(of group: TransferGroup) -> FileName {
    let date = date(of: group).map { local($0, in: group.folder).day }
    let modified = group.items[0].file.entry.modified.seconds
    return FileName(known: Array((date ?? SystemClock.localDay(seconds: modified)).utf8))
  }

  /// What the words of a pattern of names stand for. nil for a file that is neither picture nor film.
  mutating func values(of group: TransferGroup) -> NameTemplate.Values? {
    let leader = group.items[0].file
    let modified = SystemClock.localTime(seconds: leader.entry.modified.seconds)
    guard leader.isMedia,
      let moment = date(of: group).map({ local($0, in: group.folder) })
        ?? CaptureTime(Array(modified.replacing(" ", with: "T").utf8))
    else { return nil }
    let bytes = leader.name.bytes
    let end = bytes.lastIndex(of: UInt8(ascii: ".")) ?? 0
    return NameTemplate.Values(
      moment: moment, camera: leader.camera, name: end == 0 ? bytes : Array(bytes[..<end]))
  }

  /// What the photo states, else what the others of the group state, else what a sidecar or a name says. A
  /// sidecar goes first if no zone explains the difference: the date was corrected in another program.
  private mutating func date(of group: TransferGroup) -> FileDate? {
    let name = group.items[0].file.name.bytes
    let sidecar = takeout.facts(of: group)?.date?.refined(by: name)
    for item in group.items {
      guard let stated = stated(item.file) else { continue }
      if let sidecar, sidecar.contradicts(stated) { return sidecar }
      return stated.refined(by: item.file.name.bytes)
    }
    return sidecar ?? group.items.lazy.compactMap { FileDate(in: $0.file.name.bytes) }.first
  }

  private mutating func stated(_ file: SourceWalk.File) -> FileDate? {
    if let known = dates[file.path] { return known }
    let found = file.statedDate
    dates.updateValue(found, forKey: file.path)
    return found
  }

  private mutating func local(_ date: FileDate, in folder: PlainPath) -> CaptureTime {
    guard date.isWorldTime, let seconds = date.seconds else { return date.time }
    let offset = offsets(in: folder).offset(at: seconds) ?? SystemClock.offset(at: seconds)
    return date.local(offset: offset)
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

  // MARK: Sidecars

  /// What a sidecar says of a photo or film that its file does not say itself.
  struct Additions {
    var taken: CaptureTime?
    /// The time that its file gets.
    var modified: Int64?
    var notes: [PhotoNote: String] = [:]
  }

  mutating func additions(to file: SourceWalk.File, of group: TransferGroup) -> Additions {
    guard file.isMedia, let facts = takeout.facts(of: group) else { return Additions() }
    var additions = Additions(notes: facts.notes)
    guard let date = facts.date else { return additions }
    additions.modified = date.isWorldTime ? date.seconds : nil
    let stated = stated(file)
    if stated.map({ date.contradicts($0) }) ?? true {
      additions.taken = local(date.refined(by: file.name.bytes), in: group.folder)
    }
    return additions
  }
}

extension TransferGroup {
  /// The folder of its leader.
  fileprivate var folder: PlainPath { items[0].file.path.parent }
}
