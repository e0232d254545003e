import Posix

/// All receptions of the server. The PIN picks the reception, as the password picks the space: so several
/// people receive at once, and nobody learns of another one. Any thread.
final class ReceptionDesk: Sendable {
  private struct State {
    /// At most one for each session. One that has ended stays until its session does or opens another.
    var receptions: [Reception] = []
    /// Wrong PINs since the first of the open ones was opened.
    var wrong = 0
  }

  let device: LocalSendDevice
  private let state = Mutex(State(), rank: .leaf)
  private let gate = LoginGate()
  private let announcer: Announcer

  /// So many wrong PINs close all receptions: of a million PINs, guesses find one of a reception with a
  /// chance of 1 in 100,000.
  private static let guessLimit = 10

  /// - Parameter host: where the server listens; announcements go there and nowhere else.
  init(_ device: LocalSendDevice, host: String) {
    self.device = device
    announcer = Announcer(device, host: host)
  }

  struct WrongPIN: Error {}

  // MARK: For the one who receives

  /// Opens an album of a session for what phones send. Ends the session's reception of before.
  func open(_ session: Session, album: UInt64) async throws(GalleryError) -> Reception {
    try session.space.requireWritable()
    let former = state.withLock { $0.receptions.first { $0.session === session } }
    former?.close()
    let isFirst = openOnes.isEmpty
    let reception = state.withLock { state in
      if isFirst { state.wrong = 0 }
      let taken = Set(state.receptions.map(\.pin))
      var pin = ReceptionDesk.randomPIN()
      while taken.contains(pin) { pin = ReceptionDesk.randomPIN() }
      let reception = Reception(session, album: album, pin: pin)
      state.receptions.removeAll { $0.session === session }
      state.receptions.append(reception)
      return reception
    }
    await announcer.begin { [weak self] in self?.isOpen ?? false }
    return reception
  }

  private static func randomPIN() -> String {
    let digits = String(Int.random(in: 0..<1_000_000))
    return String(repeating: "0", count: 6 - digits.count) + digits
  }

  /// A session's own reception, also one that has ended. Throws `unknown` for any other.
  func reception(_ id: String, of session: Session) throws(GalleryError) -> Reception {
    let found = state.withLock { $0.receptions.first { $0.id == id && $0.session === session } }
    guard let found else { throw GalleryError(.unknown) }
    return found
  }

  /// Ends receptions that nobody sees, and stops to announce when none is open. Called each second.
  func closeDue() async {
    let receptions = state.withLock { $0.receptions }
    for reception in receptions where reception.isDue { reception.close() }
    let over = receptions.filter(\.session.isLocked).map(ObjectIdentifier.init)
    if !over.isEmpty {
      state.withLock { $0.receptions.removeAll { over.contains(ObjectIdentifier($0)) } }
    }
    if !isOpen { await announcer.end() }
  }

  // MARK: For senders

  private var openOnes: [Reception] { state.withLock { $0.receptions }.filter(\.isOpen) }

  var isOpen: Bool { !openOnes.isEmpty }

  /// The reception of a PIN. Wrong ones are slow, one at a time, for everybody alike; too many end all
  /// receptions. Throws `WrongPIN` for a wrong one, and `slow` for too many.
  func reception(pin: String, from client: Client) async throws -> Reception {
    try await gate.pass(client) { [self] in
      if let found = openOnes.first(where: { $0.pin == pin }) { return found }
      let isTooMuch = state.withLock { state in
        state.wrong += 1
        return state.wrong >= ReceptionDesk.guessLimit
      }
      if !isTooMuch { throw WrongPIN() }
      for reception in openOnes { reception.close(.guessed) }
      throw GalleryError(.slow)
    }
  }

  /// The transfer with an id that an address began. Throws `refused` for any other.
  func transfer(_ id: String, from sender: String) throws(GalleryError) -> (Reception, Transfer) {
    for reception in openOnes {
      if let transfer = reception.transfer(id, from: sender) { return (reception, transfer) }
    }
    throw GalleryError(.refused)
  }
}
