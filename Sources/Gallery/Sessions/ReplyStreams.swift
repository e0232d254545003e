import NIOCore
import Posix

/// The long replies of a session: originals and zip files. A lock closes their connections, since each keeps
/// a file of the space open; so does a client that takes nothing for a while. Any thread.
final class ReplyStreams: Sendable {
  private struct Entry {
    var channel: any Channel
    var moved: MonotonicTime
  }

  private struct State {
    var entries: [UInt64: Entry] = [:]
    var next: UInt64 = 0
    var isOver = false
  }

  private let state = Mutex(State(), rank: .leaf)
  private static let patience = Duration.seconds(60)

  /// Notes a reply; throws `session` if the session is locked. The caller calls `moved` after each piece, and
  /// `end`.
  func begin(_ channel: any Channel) throws(GalleryError) -> UInt64 {
    try state.withLock { state throws(GalleryError) in
      if state.isOver { throw GalleryError(.session) }
      state.next += 1
      state.entries[state.next] = Entry(channel: channel, moved: .now)
      return state.next
    }
  }

  func moved(_ number: UInt64) { state.withLock { $0.entries[number]?.moved = .now } }
  func end(_ number: UInt64) { state.withLock { $0.entries[number] = nil } }

  func closeAll() {
    let channels = state.withLock { state in
      state.isOver = true
      return state.entries.values.map(\.channel)
    }
    for channel in channels { channel.close(promise: nil) }
  }

  func closeStalled() {
    let channels = state.withLock { state in
      state.entries.values.filter { MonotonicTime.now > $0.moved + ReplyStreams.patience }
        .map(\.channel)
    }
    for channel in channels { channel.close(promise: nil) }
  }
}
