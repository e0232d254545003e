import AlbumFormat
import AlbumModel
import AlbumSecrets

/// Which files lack content that the frames of the last 15 minutes stated, and what is known of the
/// segments that should hold it.
struct MissingContent {
  /// How much of a segment is in the store.
  enum Presence {
    /// It has its seal: nothing of it is missing.
    case sealed
    /// It is there. What was written to it last may be missing.
    case unsealed
    /// The disk cannot read it. Its content counts as there: reads answer the error until the disk is well.
    case unreadable
    /// Something else than a file is in its place: nothing of it is left.
    case replaced
    /// No file has its name. `isListedTooEarly`: see `mayBeListedTooEarly`.
    case absent(isListedTooEarly: Bool)
  }

  /// The files, with the segments that they lack content of.
  private(set) var lacking: [InodeNumber: Set<SegmentNumber>] = [:]
  /// Of these, those of which something was written that does not open any more.
  private(set) var damaged: Set<InodeNumber> = []
  private var presences: [SegmentNumber: Presence] = [:]
  private let listing: SegmentListing
  private let content: ContentStore
  /// The store shows that it was copied while it was written: something that frames state was not written yet
  /// where a file was read, or the last session has begun segments of which no frame tells that is there.
  private var isLivingCopy = false
  /// The last session ended by an unmount, and its journal is whole.
  private let sessionHasEnded: Bool
  /// The session that wrote last.
  private let session: SegmentBirth
  /// No barrier covers the last frames of history.
  private let endsInWriting: Bool
  /// The greatest number of a data segment that is there and that the catalog knows.
  private let newestPresent: SegmentNumber
  /// The segment that was looked at last.
  private var reading: (number: SegmentNumber, cells: UnwrittenCells)?

  var isEmpty: Bool { lacking.isEmpty }
  var files: Set<InodeNumber> { Set(lacking.keys) }

  init(
    in written: [InodeNumber], _ catalog: borrowing Catalog, _ listing: SegmentListing,
    content: ContentStore, session: SegmentBirth, sessionHasEnded: Bool,
    endsInWriting: Bool, omitting omitted: Set<Precaution>
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
    isLivingCopy = listing.own.contains { id, found in
      id.kind == .data && id.number > greatest && found.contains { $0.birth == session }
    }
    for inode in written.sorted() {
      // What has lost its last name goes when replay ends, and what was left out before is known.
      guard let index = catalog.index(of: inode), catalog.state(index).links > 0,
        !catalog.state(index).marks.contains(.leftOut)
      else { continue }
      let extents = catalog.extents(of: index, from: 0, to: .max)
      for extent in extents where !extent.isLost {
        if try isThere(extent) { continue }
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

  /// Adds files whose newest content nobody knows, since frames that stated it are lost.
  mutating func addLost(_ catalog: borrowing Catalog, _ recent: RecentHistory) {
    for inode in catalog.gap?.lostContents ?? [] {
      guard let index = catalog.index(of: inode), catalog.state(index).links > 0 else { continue }
      if catalog.extents(of: index, from: 0, to: .max).contains(where: \.isLost) {
        lacking[inode, default: []].insert(Extent.lostSegment)
      }
    }
    // Names that lead to what no frame states that is there.
    for inode in catalog.gap?.names.keys.map({ $0 }) ?? [] {
      if let index = catalog.index(of: inode), catalog.inodes[index].isExpected {
        lacking[inode, default: []].insert(Extent.lostSegment)
      }
    }
  }

  /// Whether all of an extent's content is there. Content that the disk cannot read counts as there.
  mutating func isThere(_ extent: Extent) throws(StoreError) -> Bool {
    if extent.isLost { return false }
    switch try presence(extent.segment) {
    case .sealed, .unreadable: return true
    case .absent, .replaced: return false
    case .unsealed:
      do throws(StoreError) { return try content.opens(extent) } catch {
        if error.code != .inputOutput { throw error }
        return true
      }
    }
  }

  /// Whether what is missing was written once: nothing but damage takes it away.
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
      if try !content.opens(extent.clipped(from: range.lowerBound, to: range.upperBound)) {
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
      found = try presence(ofFile: id)
    } else {
      found = .absent(isListedTooEarly: mayBeListedTooEarly(id))
    }
    presences[number] = found
    return found
  }

  private func presence(ofFile id: SegmentID) throws(StoreError) -> Presence {
    do throws(StoreError) {
      if try content.files.seal(of: id) != nil { return .sealed }
      return content.files.isMisplaced(id) ? .replaced : .unsealed
    } catch {
      if error.code != .inputOutput { throw error }
      return .unreadable
    }
  }

  /// Whether a segment of the last session may have been begun when rsync had listed its folder already:
  /// rsync lists folders in the order of their names. So nothing that the session began later is in a
  /// folder that sorts before, nor in the same. Only where history ends in the middle of writing.
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

  /// Whether what a file lacks of a segment may not have been written yet when the store was copied: of
  /// one that is not there, where none that was begun later is, or where other things show that the store
  /// was copied while it was written, or where its folder may have been listed before it was begun. Else
  /// it was lost.
  func isEndOfCopy(_ number: SegmentNumber) -> Bool {
    switch presences[number] {
    case .absent(let isListedTooEarly):
      !sessionHasEnded && (isLivingCopy || number > newestPresent || isListedTooEarly)
    case .unsealed: true
    case .sealed, .unreadable, .replaced, nil: false
    }
  }
}
