import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// The files that lack content which frames of the last 15 minutes recorded, and the state of the segments
/// that should hold it.
struct MissingContent {
  /// The part of a segment that is in the store.
  enum Presence: Sendable {
    /// The segment has its seal, so nothing of it is missing.
    case sealed
    /// The segment exists without a seal. Its last records may be missing.
    case unsealed
    /// The disk cannot read it, or it went away after it was listed. Its content counts as present: reads
    /// return the error until the disk recovers.
    case unreadable
    /// Something other than a file lies in its place. Nothing of it is left.
    case replaced
    /// No file has its name. For `isListedTooEarly`, see `mayBeListedTooEarly`.
    case absent(isListedTooEarly: Bool)
  }

  /// The files, each with the segments in which its content is missing.
  private(set) var lacking: [InodeNumber: Set<SegmentNumber>] = [:]
  /// The files among them whose missing content was written and does not decrypt any more.
  private(set) var damaged: Set<InodeNumber> = []
  /// The files among them of which nothing is known but a name that they have or had.
  private(set) var unstated: Set<InodeNumber> = []
  /// Deleted files, and those of points, of which content is missing, each with the segments that lack it.
  private var deleted: [InodeNumber: Set<SegmentNumber>] = [:]
  private var presences: [SegmentNumber: Presence] = [:]
  private let listing: SegmentListing
  private let content: ContentStore
  /// True if the store shows that it was copied while it was written to: content that a frame records was
  /// not written yet when the segment was copied, the last session began segments that no copied frame
  /// names, or the newest journal segment is full and its successor is missing.
  private var isLivingCopy = false
  /// True if the last session ended with an unmount and its journal is whole.
  private let sessionHasEnded: Bool
  /// The session that wrote last.
  private let session: SegmentBirth
  /// True if no barrier covers the last frames of history.
  private let endsInWriting: Bool
  /// The greatest number of an existing data segment that the catalog knows.
  private let newestPresent: SegmentNumber
  /// The thumbnails of files with a name; nil before one is asked for.
  private var shownThumbnails: Set<InodeNumber>?
  /// The segment that was examined last.
  private var reading: (number: SegmentNumber, cells: UnwrittenCells)?

  var isEmpty: Bool { lacking.isEmpty }
  var files: Set<InodeNumber> { Set(lacking.keys) }

  init(
    in written: [InodeNumber], _ catalog: borrowing Catalog, _ listing: SegmentListing,
    content: ContentStore, session: SegmentBirth, sessionHasEnded: Bool,
    endsInWriting: Bool, lacksSuccessor: Bool, omitting omitted: Set<Precaution>
  ) throws(StoreError) {
    self.sessionHasEnded = sessionHasEnded
    self.session = session
    self.endsInWriting = endsInWriting
    self.listing = listing
    self.content = content
    newestPresent =
      catalog.segments.accounts.filter {
        listing.contains(SegmentID(kind: .data, number: $0.key), $0.value.birth)
      }.keys.max() ?? SegmentNumber(0)
    for (number, account) in catalog.segments.accounts {
      content.files.use(SegmentID(kind: .data, number: number), account.birth)
    }
    let greatest = catalog.segments.accounts.keys.max() ?? SegmentNumber(0)
    isLivingCopy =
      lacksSuccessor
      || listing.own.contains { id, found in
        id.kind == .data && id.number > greatest && found.contains { $0.birth == session }
      }
    lookAhead(at: written, catalog)
    for inode in written.sorted() {
      // A file without a name goes when replay ends, unless the space keeps it as a deleted one or for a
      // point. Files that an earlier mount left out are known.
      guard let index = catalog.index(of: inode), !catalog.state(index).marks.contains(.leftOut)
      else { continue }
      if catalog.isKept(index) { try addDeleted(inode, index, catalog) }
      if catalog.state(index).links == 0 { continue }
      let isThumbnail = catalog.state(index).marks.contains(.madeThumbnail)
      let extents = catalog.extents(of: index, from: 0, to: .max)
      for extent in extents where !extent.isLost {
        if try isThere(extent) { continue }
        if isThumbnail, !isOfNamedPhoto(inode, catalog) { continue }
        lacking[inode, default: []].insert(extent.segment)
        let isDamage = try isDamaged(extent)
        if isDamage || omitted.contains(.recognisedTails) {
          damaged.insert(inode)
        } else if case .unsealed = try presence(extent.segment) {
          isLivingCopy = true
        }
      }
    }
  }

  private mutating func addDeleted(
    _ inode: InodeNumber, _ index: InodeIndex, _ catalog: borrowing Catalog
  ) throws(StoreError) {
    for extent in catalog.extents(of: index, from: 0, to: .max) where !extent.isLost {
      if try !isThere(extent) { deleted[inode, default: []].insert(extent.segment) }
    }
  }

  /// Deleted files whose content was not written yet when the store was copied: former versions before their
  /// files. They go.
  var unwrittenDeleted: [InodeNumber] {
    deleted.filter { $0.value.allSatisfy(isEndOfCopy) }.keys.sorted(by: >)
  }

  /// False for a thumbnail that goes when replay ends, with its photo that has no name and is not kept as a
  /// deleted one: the session that took the last name may have removed the content already.
  private mutating func isOfNamedPhoto(_ thumbnail: InodeNumber, _ catalog: borrowing Catalog)
    -> Bool
  {
    if let shownThumbnails { return shownThumbnails.contains(thumbnail) }
    var shown: Set<InodeNumber> = []
    catalog.forEachInode { index, state in
      if state.links > 0 || catalog.isKept(index) { shown.insert(state.thumbnail) }
    }
    shownThumbnails = shown
    return shown.contains(thumbnail)
  }

  /// Adds files whose newest content is unknown because the frames that recorded it are lost.
  mutating func addLost(_ catalog: borrowing Catalog) {
    for inode in catalog.gap?.lostContents ?? [] {
      guard let index = catalog.index(of: inode), catalog.state(index).links > 0 else { continue }
      if catalog.extents(of: index, from: 0, to: .max).contains(where: \.isLost) {
        lacking[inode, default: []].insert(Extent.lostSegment)
      }
    }
    unstated = catalog.unstatedFiles()
    for inode in unstated { lacking[inode, default: []].insert(Extent.lostSegment) }
  }

  /// True if all content of an extent is there. Content that the disk cannot read counts as there.
  mutating func isThere(_ extent: Extent) throws(StoreError) -> Bool {
    if extent.isLost { return false }
    switch try presence(extent.segment) {
    case .sealed, .unreadable: return true
    case .absent, .replaced: return false
    case .unsealed: return try content.decryptsOrIsUnreadable(extent)
    }
  }

  /// True if the missing content was once written, so that only damage can have removed it.
  private mutating func isDamaged(_ extent: Extent) throws(StoreError) -> Bool {
    switch try presence(extent.segment) {
    case .sealed, .unreadable, .absent: return false
    case .replaced: return true
    case .unsealed: break
    }
    if reading?.number != extent.segment {
      let id = SegmentID(kind: .data, number: extent.segment)
      guard let image = try content.files.contents(id) else { return false }
      let cells = UnwrittenCells(
        image: image, name: content.files.name(id), cipher: content.files.keys.cipher)
      reading = (extent.segment, cells)
    }
    let use = RecordUse(inode: .root, extent: extent)
    for (place, offset) in use.offsets.enumerated() {
      let range = use.range(ofRecord: place)
      if reading!.cells.isUnwritten(at: offset) { continue }
      if try !content.decrypts(extent.clipped(from: range.lowerBound, to: range.upperBound)) {
        return true
      }
    }
    return false
  }

  mutating func isThere(_ version: FileVersion) throws(StoreError) -> Bool {
    for extent in version.extents where try !isThere(extent) { return false }
    return true
  }

  private mutating func presence(_ number: SegmentNumber) throws(StoreError) -> Presence {
    if let known = presences[number] { return known }
    let id = SegmentID(kind: .data, number: number)
    let found: Presence
    if let birth = content.files.birth(id), listing.contains(id, birth) {
      found = try MissingContent.presence(ofFile: id, content.files)
    } else {
      found = .absent(isListedTooEarly: mayBeListedTooEarly(id))
    }
    presences[number] = found
    return found
  }

  /// Looks at the segments of some files, at several at once where each look waits for a network. A look that
  /// fails is made again when its turn comes.
  private mutating func lookAhead(at inodes: [InodeNumber], _ catalog: borrowing Catalog) {
    let files = content.files
    if files.directory.lanes == 1 { return }
    var segments: Set<SegmentNumber> = []
    for inode in inodes {
      guard let index = catalog.index(of: inode) else { continue }
      for extent in catalog.extents(of: index, from: 0, to: .max) where !extent.isLost {
        segments.insert(extent.segment)
      }
    }
    let present = segments.sorted().filter { number in
      let id = SegmentID(kind: .data, number: number)
      return files.birth(id).map { listing.contains(id, $0) } ?? false
    }
    let seen = inLanes(files.directory.lanes, present) { number in
      try? MissingContent.presence(ofFile: SegmentID(kind: .data, number: number), files)
    }
    presences = Dictionary(uniqueKeysWithValues: zip(present, seen)).compactMapValues { $0 }
  }

  private static func presence(ofFile id: SegmentID, _ files: SegmentFiles) throws(StoreError)
    -> Presence
  {
    do throws(StoreError) {
      if try files.seal(of: id) != nil { return .sealed }
      if files.isUnreadable(id) { return .unreadable }
      return files.isMisplaced(id) ? .replaced : .unsealed
    } catch {
      if error.code != .inputOutput { throw error }
      return .unreadable
    }
  }

  /// True if the last session may have begun this segment after rsync had listed its folder. rsync lists
  /// folders in the order of their names. So the segments that the session began later must all lie in
  /// folders that sort after this one. Applies only if history ends in the middle of writing.
  private func mayBeListedTooEarly(_ id: SegmentID) -> Bool {
    guard endsInWriting, content.files.birth(id) == session else { return false }
    let folder = SegmentPath.directory(of: content.files.name(id, session))
    return !listing.own.contains { other, found in
      other.kind == .data && other.number > id.number
        && found.contains {
          $0.birth == session && SegmentPath.directory(of: $0.name) <= folder
        }
    }
  }

  /// True if the missing content of a segment may not have been written yet when the store was copied. That
  /// holds for an unsealed segment. It holds for a missing segment of an unfinished session if no later
  /// segment exists, if the store shows that it was copied while it was written to, or if rsync may have
  /// listed the folder too early. Otherwise the content was lost.
  func isEndOfCopy(_ number: SegmentNumber) -> Bool {
    switch presences[number] {
    case .absent(let isListedTooEarly):
      !sessionHasEnded && (isLivingCopy || number > newestPresent || isListedTooEarly)
    case .unsealed: true
    case .sealed, .unreadable, .replaced, nil: false
    }
  }
}
