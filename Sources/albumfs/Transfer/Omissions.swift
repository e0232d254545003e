import AlbumModel
import FileKinds
import Posix

/// Why a file or folder below a source is not copied, although nothing failed.
enum Omission: Equatable {
  /// Its name begins with a dot.
  case hidden
  /// A system or program made it for its own use (`Leftover`).
  case leftover
  /// The user excluded it by this pattern.
  case excluded(by: String)
}

/// Decides what is left out below a source. The source itself, which the user names, never is.
struct OmissionRules {
  /// True for an import. An export copies everything that a space shows.
  var leavesOutLeftovers = false
  var excluded: [ExclusionPattern] = []

  /// `path` leads from the source to the file or folder. nil if it is copied.
  func omission(of path: [FileName], isFolder: Bool) -> Omission? {
    guard let name = path.last else { return nil }
    if let pattern = excluded.first(where: { $0.matches(path, isFolder: isFolder) }) {
      return .excluded(by: pattern.text)
    }
    if leavesOutLeftovers,
      isFolder ? Leftover.isFolder(name.bytes) : Leftover.isFile(name.bytes)
    {
      return .leftover
    }
    return name.isHidden ? .hidden : nil
  }

  /// Does the same for a file of a list without folders, such as a zip file's. Returns also how many names
  /// lead to what is left out.
  func firstOmission(of path: [FileName]) -> (omission: Omission, depth: Int)? {
    for depth in 1...path.count {
      let part = Array(path.prefix(depth))
      if let omission = omission(of: part, isFolder: depth < path.count) {
        return (omission, depth)
      }
    }
    return nil
  }
}

/// A pattern of `--exclude`, by the rules of a shell: `*`, `?`, `[a-z]`, `[!a-z]`, and `\` before a character
/// that stands for itself.
///
/// Without a slash, it is compared with the name of every file and folder. With one, it is compared with the
/// whole path below the source. A slash at its end restricts it to folders.
struct ExclusionPattern {
  /// As the user wrote it.
  let text: String
  private let pattern: String
  private let isPath: Bool
  private let isForFolders: Bool

  /// nil if nothing is left without slashes.
  init?(_ text: String) {
    self.text = text
    var rest = text[...]
    isForFolders = rest.hasSuffix("/")
    while rest.hasSuffix("/") { rest.removeLast() }
    isPath = rest.contains("/")
    while rest.hasPrefix("/") { rest.removeFirst() }
    if rest.isEmpty { return nil }
    pattern = String(rest)
  }

  func matches(_ path: [FileName], isFolder: Bool) -> Bool {
    if isForFolders, !isFolder { return false }
    let compared = isPath ? path : path.suffix(1)
    return NamePattern.matches(Array(compared.map(\.bytes).joined(separator: "/".utf8)), pattern)
  }
}

/// What a walk left out.
struct OmissionReport {
  /// A file or folder that is named to the user.
  struct Named: Encodable, Equatable {
    let path: String
    /// The pattern or option that excluded it; nil if a system or program made it for itself.
    let pattern: String?

    init(_ path: PlainPath, pattern: String?) { (self.path, self.pattern) = (path.text, pattern) }
  }

  /// Hidden files and folders, which are counted only.
  private(set) var hidden = 0
  private(set) var named: [Named] = []

  mutating func add(_ path: PlainPath, _ omission: Omission) {
    switch omission {
    case .hidden: hidden += 1
    case .leftover: named.append(Named(path, pattern: nil))
    case .excluded(let pattern): named.append(Named(path, pattern: pattern))
    }
  }
}
