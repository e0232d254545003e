import Posix

/// What one sender sends at one time: LocalSend's session. Each file has a token of its own. Any thread.
final class Transfer: Sendable {
  private struct Item {
    /// nil for a file that an album cannot have.
    var expected: LocalSendOffer.Expected?
    /// The hash of the token, so that the time of a comparison reveals nothing of it.
    var token: [UInt8]
    var isComing = false
    var isSaved = false
    var isRefused = false
    /// True if an attempt to send it has ended.
    var isTried = false
  }

  private struct State {
    var items: [String: Item]
    var coming = 0
    var saved = 0
    var refused = 0
    var failed = 0
    var tried = 0
    var moved = MonotonicTime.now
    var isOver = false

    /// Ends the transfer when there is no more to come.
    mutating func endIfDone() {
      if saved + refused == items.count, coming == 0 { isOver = true }
    }
  }

  let id = RandomText.make(22)
  /// The tokens by the sender's ids of files.
  let tokens: [String: String]
  /// The address that began it; nobody else may send.
  private let sender: String
  private let state: Mutex<State>

  /// A sender that does nothing for so long has vanished, and another one may come.
  private static let patience = Duration.seconds(30)

  init(_ files: [String: LocalSendOffer.Expected?], from sender: String) {
    let tokens = files.mapValues { _ in RandomText.make(22) }
    let items = files.map { id, file in
      (id, Item(expected: file, token: Transfer.hash(tokens[id]!)))
    }
    self.sender = sender
    self.tokens = tokens
    state = Mutex(State(items: Dictionary(uniqueKeysWithValues: items)), rank: .leaf)
  }

  private static func hash(_ token: String) -> [UInt8] {
    SHA256.hash(Array(token.utf8))
  }

  func isFrom(_ address: String) -> Bool { sender == address }

  /// Lets one request at a time send a file. The caller calls `end` afterwards. A file may come again as long
  /// as the transfer lasts, since the reply to the first time may be lost; the album then has it already.
  ///
  /// Throws `refused` for a wrong token, and for a transfer that is over; `busy` if the file is coming;
  /// `name` for a file that an album cannot have. That one fails only now: some apps count a file that they
  /// get no token for as sent.
  func begin(_ file: String, _ token: String) throws(GalleryError) -> LocalSendOffer.Expected {
    let hash = Transfer.hash(token)
    return try state.withLock { state throws(GalleryError) in
      guard !state.isOver, let item = state.items[file], item.token == hash else {
        throw GalleryError(.refused)
      }
      if item.isComing { throw GalleryError(.busy) }
      guard let expected = item.expected else {
        state.items[file]!.isRefused = true
        state.failed += 1
        if !item.isRefused { state.refused += 1 }
        state.endIfDone()
        throw GalleryError(.name, "An album cannot have a file of this name or size.")
      }
      state.items[file]!.isComing = true
      state.coming += 1
      state.moved = .now
      return expected
    }
  }

  func end(_ file: String, isSaved: Bool) {
    state.withLock { state in
      state.coming -= 1
      state.moved = .now
      guard var item = state.items[file] else { return }
      item.isComing = false
      if !item.isTried {
        item.isTried = true
        state.tried += 1
      }
      if isSaved, !item.isSaved {
        item.isSaved = true
        state.saved += 1
      }
      if !isSaved { state.failed += 1 }
      state.items[file] = item
      state.endIfDone()
    }
  }

  /// Ends it. What is coming is cut off.
  func cancel() { state.withLock { $0.isOver = true } }

  /// True when all has come or failed for good, when it was cancelled, and when the sender has vanished.
  var isOver: Bool {
    state.withLock { state in
      state.isOver || (state.coming == 0 && MonotonicTime.now > state.moved + Transfer.patience)
    }
  }

  /// True if it is over, and where every file came or failed: its sender may try again what failed, until
  /// another transfer begins.
  var mayBeFollowed: Bool {
    isOver
      || state.withLock { $0.coming == 0 && $0.tried + $0.refused == $0.items.count }
  }

  /// True if nothing of it may come any more.
  var isCancelled: Bool { state.withLock { $0.isOver } }

  struct Counts: Sendable {
    /// Files that are on disk.
    var saved = 0
    var total = 0
    /// Attempts that failed.
    var failed = 0
  }

  var counts: Counts {
    state.withLock { Counts(saved: $0.saved, total: $0.items.count, failed: $0.failed) }
  }
}
