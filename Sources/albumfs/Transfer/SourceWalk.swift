import AlbumModel
import Posix

/// Finds the files that `import` and `export` copy, in the order of their names. Follows no symbolic link in
/// a folder, and skips what `OmissionRules` leave out.
struct SourceWalk {
  struct File {
    let path: PlainPath
    let name: FileName
    /// The folders that lead to it at the target.
    let folders: [FileName]
    /// The file as it was found.
    let entry: PlainEntry
    /// Where its bytes lie, for a file in a zip file.
    var member: (zip: PlainPath, member: ZipDirectory.Member)?
  }

  /// Decides what becomes of a folder in a folder.
  enum Passage {
    /// A folder of this name at the target.
    case folder(FileName)
    /// Its files count as files of the folder that it lies in.
    case merged
    case skipped
    /// Another program keeps it for itself. It is named to the user.
    case leftOut
  }

  typealias Choice = (_ name: FileName, _ parent: FileName?, _ siblings: Set<FileName>) -> Passage

  private(set) var files: [File] = []
  private(set) var problems: [TransferProblem] = []
  private(set) var omissions = OmissionReport()

  /// File systems that must not be entered.
  private let forbidden: Set<UInt64>
  let passage: Choice
  let rules: OmissionRules
  /// True for an import: it unpacks zip files, and takes no files of stores.
  private let isImport: Bool
  /// Files and folders that were found already: a source may be given twice.
  private var seen: Set<PlainEntry.Identity> = []

  init(
    forbidding forbidden: Set<UInt64>, isImport: Bool, rules: OmissionRules = OmissionRules(),
    passage: @escaping Choice
  ) {
    self.forbidden = forbidden
    self.rules = rules
    self.isImport = isImport
    self.passage = passage
  }

  var bytes: Int64 { files.lazy.map(\.entry.size).saturatingSum }

  /// Adds a file, or the content of a folder. A source itself may be a link, and may be hidden.
  mutating func add(_ source: PlainPath, in folders: [FileName] = []) {
    do throws(Errno) {
      let real = try source.real()
      if isImport, let store = SourceWalk.store(holding: real) {
        problems.append(TransferProblem(store, SourceWalk.storeReason))
        return
      }
      let name = real.name
      let entry = try PlainEntry(real)
      switch entry.kind {
      case .file where isImport && SourceWalk.isZip(real): addZip(real, entry)
      case .file: if let name { addFile(real, name, folders, entry) }
      case .directory: addFolder(real, name, folders, entry)
      case .link, .other: problems.append(TransferProblem(source, "it is neither file nor folder"))
      }
    } catch {
      problems.append(TransferProblem(source, "\(error)"))
    }
  }

  mutating func addMember(_ file: File) { files.append(file) }

  mutating func addProblem(_ path: PlainPath, _ reason: String) {
    problems.append(TransferProblem(path, reason))
  }

  mutating func omit(_ path: PlainPath, _ omission: Omission) { omissions.add(path, omission) }

  private mutating func addFile(
    _ path: PlainPath, _ name: FileName, _ folders: [FileName], _ entry: PlainEntry
  ) {
    // Another link to the same file is another file.
    if paths.insert(path).inserted {
      files.append(File(path: path, name: name, folders: folders, entry: entry))
    }
  }
  private var paths: Set<PlainPath> = []

  private mutating func addFolder(
    _ path: PlainPath, _ name: FileName?, _ folders: [FileName], _ entry: PlainEntry
  ) {
    typealias Step = (
      path: PlainPath, name: FileName?, below: [FileName], folders: [FileName], entry: PlainEntry
    )
    var waiting: [Step] = [(path, name, [], folders, entry)]
    while let (path, name, below, folders, entry) = waiting.popLast() {
      if forbidden.contains(entry.file.device) {
        problems.append(TransferProblem(path, "it lies in the space itself"))
        continue
      }
      if !seen.insert(entry.file).inserted { continue }
      if isImport, SourceWalk.isStore(path) {
        problems.append(TransferProblem(path, SourceWalk.storeReason))
        continue
      }
      let names: [FileName]
      do throws(Errno) { names = try path.names() } catch {
        problems.append(TransferProblem(path, "\(error)"))
        continue
      }
      let siblings = Set(names)
      var inner: [Step] = []
      for child in names {
        let childPath = path.appending(child)
        let place = below + [child]
        let known = try? PlainEntry(childPath)
        if let omission = rules.omission(of: place, isFolder: known?.kind == .directory) {
          omissions.add(childPath, omission)
          continue
        }
        guard let entry = look(at: childPath, known) else { continue }
        if entry.kind == .file {
          addFile(childPath, child, folders, entry)
          continue
        }
        switch passage(child, name, siblings) {
        case .folder(let target): inner.append((childPath, child, place, folders + [target], entry))
        case .merged: inner.append((childPath, child, place, folders, entry))
        case .skipped: break
        case .leftOut: omissions.add(childPath, .leftover)
        }
      }
      waiting += inner.reversed()
    }
  }

  /// Returns nil, and adds a problem, for an object that is neither a file nor a folder.
  mutating func look(at path: PlainPath, _ known: PlainEntry? = nil) -> PlainEntry? {
    do throws(Errno) {
      let entry: PlainEntry
      if let known { entry = known } else { entry = try PlainEntry(path) }
      switch entry.kind {
      case .file, .directory: return entry
      case .link: problems.append(TransferProblem(path, "it is a symbolic link"))
      case .other: problems.append(TransferProblem(path, "it is neither file nor folder"))
      }
    } catch {
      problems.append(TransferProblem(path, "\(error)"))
    }
    return nil
  }

  // MARK: Stores

  private static let storeReason = "it is a store of albumfs, whose files are no photos"

  /// A move that emptied a store would destroy its spaces, perhaps the one that it moves into.
  private static func isStore(_ path: PlainPath) -> Bool {
    PathCalls.exists(path.appending(FileName(literal: "albumfs.conf")))
      && PathCalls.exists(path.appending(FileName(literal: "segments")))
  }

  /// The store that an absolute path lies in; nil if it lies in none.
  static func store(holding path: PlainPath) -> PlainPath? {
    var path = path
    while path.name != nil {
      if isStore(path) { return path }
      path = path.parent
    }
    return nil
  }
}
