import ControlProtocol
import Posix
import Traces

/// Tells tumbler, which makes thumbnails for Thunar, Ristretto and others, to leave a directory alone, and
/// takes that back.
///
/// tumbler reads the user's `tumbler.rc`, or the system's if there is none. So the user's begins as a copy of
/// the system's, and goes when it equals that again.
struct TumblerExclusion {
  private static let name = "tumbler.rc"
  private let folder: String
  /// The system's settings.
  private let usual: TumblerSettings?
  private let own: TumblerSettings?
  private var path: String { "\(folder)/\(TumblerExclusion.name)" }

  init() throws(Failure) {
    guard let config = BaseDirectory.config.path() else {
      throw Failure(.other, "HOME is not set, so tumbler has no settings.")
    }
    folder = "\(config)/tumbler"
    let named = PathCalls.variable("XDG_CONFIG_DIRS").flatMap { $0.isEmpty ? nil : $0 }
    var found: TumblerSettings?
    for place in (named ?? "/etc/xdg").split(separator: ":") where found == nil {
      found = try TumblerExclusion.read("\(place)/tumbler/\(TumblerExclusion.name)")
    }
    usual = found
    own = try TumblerExclusion.read("\(folder)/\(TumblerExclusion.name)")
  }

  /// Every spelling of the directories. Returns the file that changed; nil if it said so already.
  func exclude(_ directories: [String]) throws(Failure) -> String? {
    if let odd = directories.first(where: { !TumblerSettings.canName($0) }) {
      throw Failure(.usage, "tumbler cannot leave \(odd) alone: its settings allow no $ in a path.")
    }
    guard var settings = own ?? usual else {
      throw Failure(.other, "There is no tumbler/tumbler.rc in /etc/xdg: tumbler is not installed.")
    }
    for directory in directories { settings.exclude(directory) }
    guard directories.allSatisfy(settings.excludes) else {
      throw Failure(.other, "tumbler's settings name no plugin, so nothing can be excluded there.")
    }
    return try write(settings)
  }

  func include(_ directories: [String]) throws(Failure) -> String? {
    guard var settings = own else { return nil }
    for directory in directories { settings.include(directory) }
    return try write(settings)
  }

  private func write(_ settings: TumblerSettings) throws(Failure) -> String? {
    if settings == own { return nil }
    do throws(Errno) {
      try StateDirectory.makeFolders(folder)
      let directory = try PosixDirectory(path: folder)
      if settings == usual {
        try directory.remove(TumblerExclusion.name)
      } else {
        try directory.replaceFile(TumblerExclusion.name, by: Array(settings.text.utf8))
      }
    } catch {
      throw Failure(.other, "\(path) cannot be written: \(error).")
    }
    return path
  }

  private static func read(_ path: String) throws(Failure) -> TumblerSettings? {
    let content: [UInt8]
    do throws(Errno) { content = try readWholeFile(path) } catch {
      if error == .noEntry || error == .notDirectory { return nil }
      throw Failure(.other, "\(path) cannot be read: \(error).")
    }
    guard let text = String(validating: content, as: UTF8.self) else {
      throw Failure(.other, "\(path) is not in UTF-8, so tumbler cannot read it.")
    }
    return TumblerSettings(text)
  }
}
