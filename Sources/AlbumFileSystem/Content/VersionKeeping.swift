import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

// Former versions: the content before the first change of a complete file since it was opened, and before
// the first change since it lost its last name.

extension FileContent {
  /// Called before each change of the content or the size. A file that was empty then has nothing to lose
  /// while its handles are open: the content is not complete before the last is closed.
  func recordFormer(_ state: inout State) {
    if state.isFormerKnown { return }
    state.isFormerKnown = true
    if state.stated == 0 { return }
    space.read { catalog in
      state.former = FormerState(catalog.state(index))
      noteDeletion(catalog.formerPlace(of: index) != nil, &state)
    }
  }

  /// Returns true if the last name went, or one came back, since the last change.
  @discardableResult
  private func noteDeletion(_ isDeleted: Bool, _ state: inout State) -> Bool {
    if isDeleted == state.wasDeleted { return false }
    (state.wasDeleted, state.hasVersionOfDeleted) = (isDeleted, false)
    return true
  }

  /// Keeps what the newest point shows. Keeps the content of the catalog as a former version, if one is due
  /// and a change from `first` on, after which the file has `size` bytes, loses some of it.
  func keepVersion(
    from first: Int64, size: Int64, at moment: RemovalMoment, _ state: inout State,
    _ catalog: inout Catalog
  ) {
    defer { catalog.keepState(of: index) }
    let place = catalog.formerPlace(of: index)
    let isDeleted = place != nil
    if noteDeletion(isDeleted, &state), let place {
      // The file was changed before it lost its name, too.
      state.former = FormerState(catalog.state(index), notAfter: place.removed)
    }
    let former = state.former?.size ?? 0
    guard losesContent(from: first, size, of: former, changesEnd: state.changesEnd) else { return }
    defer { (state.former, state.isFormerKnown, state.changesEnd) = (nil, false, false) }
    let isDue =
      isDeleted
      ? !state.hasVersionOfDeleted : !state.hasVersion && pace.isDue(inode, clock.monotonic())
    guard isDue, catalog.keepVersion(of: index, as: state.former, at: moment) else { return }
    state.hasVersion = true
    state.hasVersionOfDeleted = isDeleted
    pace.record(inode, clock.monotonic())
  }

  // MARK: Appending

  // Appending loses nothing. The kernel writes whole pages, so it writes stored bytes of the last page again
  // when a program appends. Only the bytes tell that from a program that changes the end of a file.

  private func losesContent(
    from first: Int64, _ size: Int64, of former: Int64, changesEnd: Bool
  ) -> Bool {
    if first >= former { return false }
    return size <= former || first < VersionPace.lastPage(of: former) || changesEnd
  }

  /// Compares bytes that are about to be written with those that the last page of the file holds. Other
  /// writes take no lock but that of the file.
  func compareEnd(with bytes: UnsafeRawBufferPointer, at offset: Int64) {
    let former = monitor.withLock { state in
      state.changesEnd ? 0 : state.isFormerKnown ? state.former?.size ?? 0 : state.stated
    }
    let first = max(offset, VersionPace.lastPage(of: former))
    let count = Int(min(offset + Int64(bytes.count), former) - first)
    if count <= 0 { return }
    let written = unsafe UnsafeRawBufferPointer(
      rebasing: bytes[Int(first - offset)...].prefix(count))
    if unsafe !holds(written, at: first) { monitor.withLock { $0.changesEnd = true } }
  }

  private func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
    var room = [UInt8](repeating: 0, count: ReadHeadroom.byteCount + bytes.count)
    return unsafe room.withUnsafeMutableBytes { room in
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: room[ReadHeadroom.byteCount...])
      let count = try? unsafe read(into: target, at: offset)
      return unsafe count == bytes.count && target.elementsEqual(bytes)
    }
  }
}

/// Lets a file that a program overwrites again and again keep at most one former version a minute. Any
/// thread.
final class VersionPace: Sendable {
  private static let pageByteCount = Int64(PageBuffer.pageByteCount)
  private static let interval = Duration.seconds(60)
  private let last = Mutex<[InodeNumber: MonotonicTime]>([:], rank: .leaf)

  /// Where the last page of a file begins that has `size` bytes.
  static func lastPage(of size: Int64) -> Int64 { size - size % pageByteCount }

  func isDue(_ file: InodeNumber, _ now: MonotonicTime) -> Bool {
    last.withLock { last in last[file].map { now - $0 >= VersionPace.interval } ?? true }
  }

  func record(_ file: InodeNumber, _ now: MonotonicTime) {
    last.withLock { last in
      last[file] = now
      if last.count % 4096 == 0 { last = last.filter { now - $0.value < VersionPace.interval } }
    }
  }
}
