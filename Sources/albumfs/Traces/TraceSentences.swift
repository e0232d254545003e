import ControlProtocol
import Posix
import Traces

/// The result of a search for traces, as sentences for a person and as JSON for a program.
struct TraceSentences {
  private let search: TraceSearch
  private let target: TraceTarget

  init(_ search: TraceSearch, of target: TraceTarget) {
    self.search = search
    self.target = target
  }

  // MARK: For people

  /// One line for each trace, or only for those that are not removed.
  func lines(all: Bool) -> [String] {
    search.traces.filter { all || $0.state != .removed }.map { trace in
      let path = trace.path.map { String(decoding: $0, as: UTF8.self) }
      let about = path.map { $0.isEmpty ? "the mount point" : $0 } ?? "unknown picture"
      let line =
        "\(trace.kind.words.one): \(about), in \(trace.file)\(TraceSentences.state(trace.state))"
      return line.printable
    }
  }

  /// Files that the search did not look into.
  var remarks: [String] {
    var lines = search.unseen.map { unseen in
      let reason =
        switch unseen.reason {
        case .error(let error): "\(error)"
        case .anotherUsers: "it is another user's, or you may not read it"
        case .tooLarge: "it is too large"
        case .notUnderstood: "it is not of the form that albumfs knows"
        }
      return "Not looked into: \(unseen.file): \(reason)".printable
    }
    if !search.isComplete { lines.append("There are more files than albumfs looks into.") }
    return lines
  }

  /// Ends the output of `albumfs traces`.
  var summary: String {
    let words = command + " --clean"
    if proven.isEmpty {
      return search.traces.isEmpty
        ? "No traces found." : "No other traces found. These may be of other pictures."
    }
    if search.isCleaning { return "Removed \(counted(removed, "trace"))." }
    let all = counted(proven.count, "trace")
    switch removable {
    case 0: return "\(all). albumfs can remove none of them."
    case proven.count: return "\(all). Remove \(proven.count == 1 ? "it" : "them") with: \(words)"
    default: return "\(all). Remove \(removable) of them with: \(words)"
    }
  }

  private var removable: Int { search.traces.filter { $0.state == .found }.count }

  /// The line of a command that looked by the way; nil if there is nothing to say.
  var remark: String? {
    if proven.isEmpty { return nil }
    if search.isCleaning { return "Removed \(counted(removed, "trace")) outside of it." }
    var counts: [String] = []
    for kind in Trace.Kind.allCases {
      let count = proven.filter { $0.kind == kind }.count
      if count == 1 { counts.append("1 \(kind.words.one)") }
      if count > 1 { counts.append("\(count) \(kind.words.several)") }
    }
    let more = search.isComplete ? "" : ", maybe more"
    let advice = removable > 0 ? "To remove: \(command) --clean" : "To see more: \(command)"
    return "Outside of it stay \(counts.joined(separator: ", "))\(more). \(advice)"
  }

  /// nil unless traces stay that should not, or may stay because a place was not searched.
  var failure: Failure? {
    if !search.isCleaning { return nil }
    let staying = proven.filter { trace in
      if case .stays = trace.state { return true }
      return false
    }
    var reasons: [String] = []
    if !staying.isEmpty {
      reasons.append("\(counted(staying.count, "trace")) stay\(staying.count == 1 ? "s" : "").")
    }
    let unread = search.unseen.filter { $0.reason.mayBeMended }.count
    if unread > 0 { reasons.append("\(counted(unread, "place")) could not be looked into.") }
    if !search.isComplete { reasons.append("The search is not complete.") }
    return reasons.isEmpty ? nil : Failure(.tracesStay, reasons.joined(separator: " "))
  }

  /// Temporary pictures may be of any other directory.
  private var proven: [Trace] { search.traces.filter { $0.state != .stays(.unproven) } }

  private var removed: Int {
    search.traces.filter { $0.state == .removed || $0.state == .leaving }.count
  }

  private var command: String {
    "albumfs traces " + ShellWord.quoted(target.mountPoints.first ?? "")
  }

  private static func state(_ state: Trace.State) -> String {
    switch state {
    case .found: ""
    case .removed: ": removed"
    case .leaving: ": gvfs removes it within a minute"
    case .stays(let reason): ": stays: " + sentence(reason)
    }
  }

  private static func sentence(_ reason: Trace.Reason) -> String {
    switch reason {
    case .error(.stale): "another program changed the file meanwhile; run this again"
    case .error(let error): "\(error)"
    case .needsDaemon:
      "only gvfs may change it; run this in your desktop session, or install libglib2.0-bin and "
        + "gvfs-daemons"
    case .refused(let words): "gvfs refused: \(words)"
    case .abandoned: "gvfs does not use this journal any more; you can remove it"
    case .setting: "it is a setting; reset it in its program"
    case .database: "it is a program's own; remove the photos in that program"
    case .unproven: "nothing in it says where it comes from; look at it"
    case .trash: "it is the file itself, and not encrypted; restore it, or empty the trash"
    }
  }

  // MARK: For programs

  struct Listing: Encodable {
    struct Entry: Encodable {
      var kind: String
      var file: String
      var path: String?
      var state: String
      var reason: String?
    }
    struct Unseen: Encodable {
      var file: String
      var reason: String
    }
    var version = 1
    var mountPoints: [String]
    var complete: Bool
    var traces: [Entry]
    var unseen: [Unseen]
  }

  var listing: Listing {
    Listing(
      mountPoints: target.mountPoints, complete: search.isComplete,
      traces: search.traces.map { trace in
        Listing.Entry(
          kind: trace.kind.rawValue, file: trace.file,
          path: trace.path.map { String(decoding: $0, as: UTF8.self) },
          state: TraceSentences.word(trace.state), reason: TraceSentences.reason(trace.state))
      },
      unseen: search.unseen.map { unseen in
        let reason =
          switch unseen.reason {
          case .error: "error"
          case .anotherUsers: "anotherUsers"
          case .tooLarge: "tooLarge"
          case .notUnderstood: "notUnderstood"
          }
        return Listing.Unseen(file: unseen.file, reason: reason)
      })
  }

  private static func word(_ state: Trace.State) -> String {
    switch state {
    case .found: "found"
    case .removed: "removed"
    case .leaving: "leaving"
    case .stays: "stays"
    }
  }

  private static func reason(_ state: Trace.State) -> String? {
    guard case .stays(let reason) = state else { return nil }
    return sentence(reason)
  }
}

extension UnseenFile.Reason {
  /// True if the user can give access, and another run then looks into it.
  fileprivate var mayBeMended: Bool {
    switch self {
    case .error, .anotherUsers: true
    case .tooLarge, .notUnderstood: false
    }
  }
}

extension Trace.Kind {
  /// The words for one and for several.
  var words: (one: String, several: String) {
    switch self {
    case .thumbnail: ("thumbnail", "thumbnails")
    case .recentFile: ("recently used file", "recently used files")
    case .metadata: ("metadata", "metadata of files")
    case .history: ("history", "history entries")
    case .setting: ("setting", "settings")
    case .database: ("database", "databases")
    case .temporaryPicture: ("temporary picture", "temporary pictures")
    case .trashedFile: ("file in the trash", "files in the trash")
    }
  }
}

/// Looks for traces after another command did its work.
enum TraceLook {
  /// Says in one line what is left of a mount. `cleaning` removes it.
  static func report(_ mountPoint: String, cleaning: Bool, _ output: OutputOptions) throws(Failure)
  {
    if output.quiet, !cleaning { return }
    // Another command's success does not depend on it.
    guard let target = try? TraceTarget(mountPoint: mountPoint), let places = try? target.places()
    else { return }
    let search = TraceSearch.run(
      target.tree, in: places, cleaning: cleaning, limits: cleaning ? .thorough : .quick())
    let words = TraceSentences(search, of: target)
    if cleaning { for line in words.lines(all: false) { output.say(line) } }
    if let remark = words.remark { output.say("\(mountPoint): \(remark)") }
    if let failure = words.failure { throw failure }
  }
}
