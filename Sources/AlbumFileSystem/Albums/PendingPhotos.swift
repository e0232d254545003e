import AlbumModel
import Posix

/// The photos that wait for their thumbnail, the most urgent first, and the callers that wait for that. It
/// mirrors the catalog, and is wrong in one direction only: it may contain photos that need no thumbnail any
/// more. Any thread.
final class PendingPhotos: Sendable {
  /// Why a photo waits.
  enum Reason: Equatable {
    /// A program asked for its thumbnail.
    case wanted
    /// Its content was written at this time.
    case written(MonotonicTime)
    /// It has waited since an earlier session, or its thumbnail is made again.
    case backlog

    /// The place of its line: the first line goes first.
    fileprivate var line: Int {
      switch self {
      case .wanted: 0
      case .written: 1
      case .backlog: 2
      }
    }

    /// For a trace.
    fileprivate var word: String {
      switch self {
      case .wanted: "wanted"
      case .written: "written"
      case .backlog: "backlog"
      }
    }
  }

  /// Photos in the order in which they came.
  struct Line {
    private var photos: [InodeNumber] = []
    /// The start of the line.
    private var first = 0

    var isEmpty: Bool { first == photos.count }

    mutating func append(_ photo: InodeNumber) { photos.append(photo) }

    mutating func take() -> InodeNumber? {
      if first == photos.count { return nil }
      let photo = photos[first]
      first += 1
      if first == photos.count || first > 4096 {
        photos.removeFirst(first)
        first = 0
      }
      return photo
    }
  }

  struct State {
    /// A photo that became urgent may stand in a later line, too, where it is passed over.
    var lines = [Line(), Line(), Line()]
    /// The line of each photo that waits.
    var queued: [InodeNumber: Int] = [:]
    /// How often a photo began to wait.
    var arrivals = 0
    /// When photos were written last, and the time before.
    var lastWritten: (MonotonicTime, before: MonotonicTime)?
    var handedOut: [InodeNumber: (count: UInt64, line: Int)] = [:]
    /// The photos that each waiting caller still waits for.
    var waiters: [Int: Set<InodeNumber>] = [:]
    var nextWaiter = 0
    var wake: (@Sendable () -> Void)?
  }

  /// A program that copies photos writes one after the other in less than this, also on a busy machine.
  private static let copyInterval = Duration.seconds(1)

  /// The same where the source is fast enough to keep a processor busy.
  private static let quickInterval = Duration.milliseconds(100)

  /// A leaf: nothing else is locked under it, and `wake` is called without it.
  private let monitor = Monitor(State(), rank: .leaf)
  private let trace: EventTracer?

  init(trace: EventTracer? = nil) { self.trace = trace }

  /// True if no photo waits or is being worked on.
  var isIdle: Bool { monitor.withLock { $0.queued.isEmpty && $0.handedOut.isEmpty } }

  /// How many photos stand in each line, and how many are worked on. Does not wait; nil if a thread holds the
  /// lock.
  var glance: PhotoGlance? {
    monitor.withLockIfFree { state in
      func count(_ line: Int) -> Int { state.queued.values.count { $0 == line } }
      return PhotoGlance(
        wanted: count(0), written: count(1), backlog: count(2), taken: state.handedOut.count)
    }
  }

  var arrivals: Int { monitor.withLock { $0.arrivals } }

  func setWake(_ wake: @escaping @Sendable () -> Void) {
    let isWaiting = monitor.withLock { state in
      state.wake = wake
      return !state.queued.isEmpty
    }
    if isWaiting { wake() }
  }

  func add(_ photos: [InodeNumber], _ reason: Reason) {
    if photos.isEmpty { return }
    let wake = monitor.withLock { state in
      // While photos wait, those who take them have been woken and will come for these too.
      let wasEmpty = state.queued.isEmpty
      for photo in photos { state.queue(photo, reason.line) }
      state.arrivals += 1
      if case .written(let time) = reason {
        state.lastWritten = (time, before: state.lastWritten?.0 ?? time - .seconds(1))
      }
      return wasEmpty ? state.wake : nil
    }
    if let trace {
      for photo in photos { trace.record("queued node=\(photo.rawValue) as=\(reason.word)") }
    }
    wake?()
  }

  /// A program asked for the thumbnail of a photo. If the photo waits or is being worked on, it becomes more
  /// urgent.
  func isWanted(_ photo: InodeNumber) {
    let line = Reason.wanted.line
    monitor.withLock { state in
      if state.queued[photo] != nil { state.queue(photo, line) }
      state.handedOut[photo]?.line = line
    }
  }

  /// How urgent the thumbnail of a taken photo is.
  func urgency(of photo: InodeNumber, now: MonotonicTime) -> PhotoUrgency {
    monitor.withLock { state in
      let line = state.handedOut[photo]?.line ?? Reason.backlog.line
      let isAwaited =
        line == Reason.wanted.line || state.waiters.values.contains { $0.contains(photo) }
      if isAwaited { return .now }
      if let (last, before) = state.lastWritten, now - last < PendingPhotos.copyInterval,
        last - before < PendingPhotos.copyInterval
      {
        return .whenIdle
      }
      return line == Reason.backlog.line ? .later : .now
    }
  }

  /// True while photos are written in quick succession, and nobody waits for a thumbnail.
  func areCopied(now: MonotonicTime) -> Bool {
    monitor.withLock { state in
      guard let (last, before) = state.lastWritten else { return false }
      let isQuick =
        now - last < PendingPhotos.quickInterval && last - before < PendingPhotos.quickInterval
      return isQuick && state.waiters.isEmpty && state.lines[Reason.wanted.line].isEmpty
    }
  }

  /// Takes the next photo; it counts as being worked on until `done`.
  func take() -> InodeNumber? {
    monitor.withLock { state in
      for line in state.lines.indices {
        while let photo = state.lines[line].take() {
          guard state.queued[photo] == line else { continue }
          state.queued[photo] = nil
          let taken = state.handedOut[photo]
          state.handedOut[photo] = ((taken?.count ?? 0) + 1, min(line, taken?.line ?? line))
          return photo
        }
      }
      return nil
    }
  }

  /// The work on one taken photo is finished.
  func done(_ photo: InodeNumber) {
    monitor.withLock { state in
      let rest = (state.handedOut[photo]?.count ?? 1) - 1
      if rest == 0 { state.handedOut[photo] = nil } else { state.handedOut[photo]?.count = rest }
      if state.queued[photo] != nil || rest > 0 { return }
      for waiter in state.waiters.keys { state.waiters[waiter]?.remove(photo) }
    }
    monitor.notifyAll()
  }

  /// Returns true when every photo that waits now is done, or false at the deadline.
  func wait(until deadline: MonotonicTime?) -> Bool {
    let waiter = monitor.withLock { state in
      state.nextWaiter += 1
      state.waiters[state.nextWaiter] = Set(state.queued.keys).union(state.handedOut.keys)
      return state.nextWaiter
    }
    defer { monitor.withLock { state in state.waiters[waiter] = nil } }
    let isDone = { @Sendable (state: inout State) -> Bool? in
      state.waiters[waiter]?.isEmpty == true ? true : nil
    }
    if let deadline { return monitor.waiting(until: deadline, isDone) ?? false }
    return monitor.waiting(isDone)
  }
}

/// How urgent the thumbnail of a photo is.
package enum PhotoUrgency: Sendable {
  /// A program is copying photos: the copies go first.
  case whenIdle
  /// Nobody waits for it: the photo has waited since an earlier session, or thumbnails are made again.
  case later
  /// Somebody waits: the photo was just written, a program asked for its thumbnail, or `sync` waits for it.
  case now
}

/// The photos that wait for their thumbnail at one moment, by the reason, and those that are worked on.
package struct PhotoGlance: Sendable {
  package let wanted: Int
  package let written: Int
  package let backlog: Int
  package let taken: Int
}

extension PendingPhotos.State {
  /// Puts a photo into a line, unless it waits there or in an earlier one.
  mutating func queue(_ photo: InodeNumber, _ line: Int) {
    if let known = queued[photo], known <= line { return }
    queued[photo] = line
    lines[line].append(photo)
  }
}
