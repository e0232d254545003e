import ControlProtocol
import Glibc
import ObjectStores
import Posix

/// Decides what `albumfs mount` mounts and where, from its arguments, the user's settings, and questions on
/// the terminal.
struct MountPlan {
  /// Absolute paths, as `MountPath.resolve` spells them.
  var store: String
  var mountPoint: String
  /// Options from the user's settings.
  var options: [String] = []
  /// True if the settings name the mount point: it is for nothing else.
  var isConfigured: Bool

  /// True if the user was asked, and wants the same the next time.
  var isToBeRemembered = false
  /// True if the user was asked, and wants the store to be made.
  var isStoreToBeMade = false

  /// A plan for exactly this; the user's settings count for nothing.
  init(exactly store: String, _ mountPoint: String) {
    self.store = store
    self.mountPoint = mountPoint
    isConfigured = false
  }

  init(store: String?, mountPoint: String?) throws(Failure) {
    let settings = try UserConfiguration.read()
    let place = store.map(MountPath.resolve)
    let point = mountPoint.map(MountPath.resolve)
    // `albumfs mount ~/Album` means the store that belongs there.
    let entry =
      place.map { settings.entry(of: $0) ?? (point == nil ? settings.entry(at: $0) : nil) }
      ?? settings.entries.first
    if let entry, let known = point ?? entry.mountPoint {
      self.store = entry.store
      self.mountPoint = known
      options = entry.options
      isConfigured = known == entry.mountPoint
      return
    }
    isConfigured = false
    if let place, let point {
      (self.store, self.mountPoint) = (place, point)
      return
    }
    guard isatty(STDIN_FILENO) == 1 else { throw MountPlan.nobodyToAsk(place ?? entry?.store) }
    let chosen = place ?? entry?.store
    self.store =
      chosen ?? MountPlan.askForPath("Store, made if it is missing", MountPlan.usualStore)
    self.mountPoint =
      point ?? MountPlan.askForPath("Where to mount it", MountPlan.usualPoint(for: self.store))
    options = entry?.options ?? []
    if chosen == nil, !self.store.hasPrefix(S3Place.scheme), !PathCalls.exists(self.store) {
      let shown = UserConfiguration.abbreviated(self.store)
      isStoreToBeMade = Terminal.agrees("There is no \(shown). Make it?")
      if !isStoreToBeMade {
        throw Failure(.interrupted, "Nothing was made and nothing is mounted.")
      }
    }
    // A store that the settings name gets its mount point there by hand.
    if entry == nil {
      isToBeRemembered = Terminal.agrees("Do the same for `albumfs mount` from now on?")
    }
  }

  private static func nobodyToAsk(_ store: String?) -> Failure {
    let path = UserConfiguration.shownPath
    guard let store else {
      return Failure(
        .usage,
        "No store is given, and \(path) names none. Run albumfs mount in a terminal to be asked, or use: "
          + "albumfs mount STORE MOUNTPOINT")
    }
    return Failure(
      .usage,
      "No mount point is given, and \(path) names none for \(store). Use: "
        + "albumfs mount \(ShellWord.quoted(store)) MOUNTPOINT"
    )
  }

  private static var usualStore: String? { BaseDirectory.home().map { $0 + "/Album.store" } }

  /// `~/Album` for `~/Album.store`.
  static func usualPoint(for store: String) -> String? {
    if store.hasSuffix(".store"), !store.hasSuffix("/.store") { return String(store.dropLast(6)) }
    return BaseDirectory.home().map { $0 + "/Album" }
  }

  private static func askForPath(_ what: String, _ usual: String?) -> String {
    let shown = usual.map { " [\(UserConfiguration.abbreviated(MountPath.resolve($0)))]" } ?? ""
    while true {
      guard let line = Terminal.ask("\(what)\(shown): ") else {
        exit(ExitStatus.code(for: .interrupted))
      }
      if !line.isEmpty { return MountPath.resolve(UserConfiguration.expanded(line)) }
      if let usual { return MountPath.resolve(usual) }
    }
  }
}

extension Terminal {
  /// Asks a question and returns the line that the user types, without blanks around it; nil at the end of
  /// input.
  static func ask(_ question: String) -> String? {
    prompt(question)
    return readLine()?.trimmed
  }

  /// Asks a question that Return answers with yes.
  static func agrees(_ question: String) -> Bool {
    while true {
      switch ask("\(question) [Y/n] ")?.lowercased() {
      case "", "y", "yes": return true
      case "n", "no", nil: return false
      default: continue
      }
    }
  }
}
