import ArgumentParser
import ControlProtocol
import Daemon
import Glibc
import ObjectStores
import Posix

/// The user's own settings: which stores `albumfs mount` mounts where, and how. A file of lines `name =
/// value`; each line `store = …` begins the settings of one store, and the first store is the default.
///
///     store = ~/Album.store
///     mountpoint = ~/Album
///     idle = 15m
struct UserConfiguration {
  /// The settings of one store.
  struct Entry: Equatable {
    /// Absolute, as `MountPath.resolve` spells it; so is the mount point.
    var store: String
    var mountPoint: String?
    /// The other settings, as options of `albumfs mount`.
    var options: [String] = []
  }

  var entries: [Entry] = []
  /// The settings of the last store so far.
  private var names: Set<String> = []

  /// The settings of `albumfs mount` that take a value.
  private static let valued = ["options"] + LaunchOptions.valuedWords
  private static var names: String {
    (["store", "mountpoint"] + valued + LaunchOptions.flagWords).joined(separator: ", ")
  }

  /// `$XDG_CONFIG_HOME/albumfs/config`, by default in `~/.config`; nil if the environment names no directory.
  static var path: String? { BaseDirectory.config.path().map { $0 + "/albumfs/config" } }

  /// The path as messages show it.
  static var shownPath: String { path.map(abbreviated) ?? "~/.config/albumfs/config" }

  /// The settings of a store, by its absolute path.
  func entry(of store: String) -> Entry? { entries.first { $0.store == store } }

  /// The settings of the store that belongs on a mount point.
  func entry(at mountPoint: String) -> Entry? { entries.first { $0.mountPoint == mountPoint } }

  /// The longest file that is read, in bytes.
  private static let mostBytes = 1 << 20

  /// Reads the user's file. Without one, nothing is set.
  static func read() throws(Failure) -> UserConfiguration {
    guard let path, let text = try content(of: path) else { return UserConfiguration() }
    return try parse(text, from: path)
  }

  /// Nil if there is no such file. Reads nothing but a regular file that nobody else can write.
  private static func content(of path: String) throws(Failure) -> String? {
    let (bytes, size): ([UInt8], Int64)
    do throws(Errno) {
      let file = try FileDescriptor(open: path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
      guard try file.isTrusted else { throw .notPermitted }
      size = try file.size()
      bytes = size > mostBytes ? [] : try file.readToEnd()
    } catch {
      switch error {
      case .noEntry, .notDirectory: return nil
      case .notPermitted:
        throw Failure(
          .usage,
          "\(path) may name programs that albumfs runs. So it must be a regular file of yours that nobody "
            + "else can write: chmod 600 \(path)")
      default: throw Failure(.other, "\(path) cannot be read: \(error).")
      }
    }
    if size > mostBytes {
      throw Failure(.usage, "\(path) has \(size) bytes; settings take 1 MiB at most.")
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Throws for the first line that means nothing, and names it. Takes files of other systems, too: a byte
  /// order mark at the beginning, and lines that end with a carriage return.
  static func parse(_ text: String, from path: String) throws(Failure) -> UserConfiguration {
    var found = UserConfiguration()
    let text = text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]
    // A carriage return with a line feed is one character of Swift.
    let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for (place, line) in lines.enumerated() {
      let words = line.trimmed
      if words.isEmpty || words.hasPrefix("#") { continue }
      do throws(Failure) { try found.add(words) } catch {
        throw Failure(.usage, "\(path), line \(place + 1): \(error.message)")
      }
    }
    return found
  }

  private mutating func add(_ line: String) throws(Failure) {
    guard let sign = line.firstIndex(of: "=") else {
      throw Failure(.usage, "\"\(line)\" is not a line of the form: name = value")
    }
    let name = line[..<sign].trimmed
    let value = line[line.index(after: sign)...].trimmed
    if value.isEmpty { throw Failure(.usage, "\(name) has no value.") }
    if name == "store" {
      let store = try UserConfiguration.place(value, name)
      if entry(of: store) != nil {
        throw Failure(.usage, "\(value) is a store of an earlier line.")
      }
      entries.append(Entry(store: store))
      names = []
      return
    }
    guard let last = entries.indices.last else {
      throw Failure(.usage, "\(name) comes before the first line \"store = …\".")
    }
    if !names.insert(name).inserted, name != "options" {
      throw Failure(.usage, "an earlier line sets \(name) for this store already.")
    }
    if name == "mountpoint" {
      let point = try UserConfiguration.place(value, name)
      if entry(at: point) != nil {
        throw Failure(.usage, "\(value) is the mountpoint of an earlier store.")
      }
      entries[last].mountPoint = point
    } else {
      entries[last].options += try UserConfiguration.option(name, value)
    }
  }

  /// The words of one setting. `albumfs mount` itself judges the value.
  private static func option(_ name: String, _ value: String) throws(Failure) -> [String] {
    var words: [String]
    if LaunchOptions.flagWords.contains(name) {
      switch value {
      case "yes": words = ["--\(name)"]
      case "no": words = []
      default: throw Failure(.usage, "\(name) takes yes or no, not \"\(value)\".")
      }
    } else if valued.contains(name) {
      let isPath = ["password-file", "thumbnailer", "video-thumbnailer"].contains(name)
      let option = name == "options" ? "-o" : "--\(name)"
      // A value that begins with a hyphen would pass for an option.
      words =
        value.hasPrefix("-")
        ? ["\(option)=\(value)"] : [option, isPath ? try place(value, name) : value]
    } else {
      throw Failure(.usage, "there is no setting \"\(name)\"; there are: \(names).")
    }
    // One option is good only beside another.
    let beside = name == "with-password" ? ["--fido2"] : []
    do { _ = try Mount.parse(beside + words) } catch {
      let lines = ValueAdvice.added(to: Mount.message(for: error))
      throw Failure(.usage, lines.joined(separator: "\n"))
    }
    return words
  }

  /// An absolute path of a value, which may begin with `~/`.
  private static func place(_ value: String, _ name: String) throws(Failure) -> String {
    let path = expanded(value)
    if path.hasPrefix("/") || name == "store" && path.hasPrefix(S3Place.scheme) {
      return MountPath.resolve(path)
    }
    throw Failure(.usage, "\(name) takes a path that begins with / or ~/, not \"\(value)\".")
  }

  /// Replaces `~` at the beginning, as a shell does.
  static func expanded(_ path: String) -> String {
    guard path == "~" || path.hasPrefix("~/"), let home = BaseDirectory.home() else { return path }
    return home + path.dropFirst()
  }

  /// The path with `~` for the home directory, as people write it.
  static func abbreviated(_ path: String) -> String {
    guard let home = BaseDirectory.home(), home != "/", path.lies(in: MountPath.resolve(home))
    else { return path }
    return "~" + path.dropFirst(MountPath.resolve(home).count)
  }

  /// The path for a command that a person can paste into a shell.
  static func shellWord(_ path: String) -> String {
    let short = abbreviated(path)
    // A shell replaces no `~` between quotes.
    return ShellWord.quoted(short) == short ? short : ShellWord.quoted(path)
  }
}

extension UserConfiguration {
  /// Adds a store with its mount point to the user's file, which is made if it is missing.
  static func remember(store: String, mountPoint: String) throws(Failure) {
    guard let path else { throw Failure(.usage, "HOME is not set, so nothing can be remembered.") }
    let folder = String(path[..<path.lastIndex(of: "/")!])
    do throws(Errno) {
      try StateDirectory.makeFolders(folder)
      var text = ""
      do throws(Errno) { text = String(decoding: try readWholeFile(path), as: UTF8.self) } catch {
        if error != .noEntry { throw error }
        text = "# What `albumfs mount` mounts; the first store is the default. See albumfs(1).\n"
      }
      if !text.hasSuffix("\n") { text += "\n" }
      text += "\nstore = \(abbreviated(store))\nmountpoint = \(abbreviated(mountPoint))\n"
      try PosixDirectory(path: folder).replaceFile("config", by: Array(text.utf8))
    } catch {
      throw Failure(.other, "\(path) cannot be written: \(error).")
    }
  }
}
