import Posix

/// Finds the files that `import` and `export` copy, in the order of their names. Follows no symbolic link in
/// a folder, and skips what is hidden.
struct SourceWalk {
  struct File {
    let path: String
    let name: String
    /// The folders that lead to it at the target.
    let folders: [String]
    /// The file as it was found.
    let entry: PlainEntry
  }

  /// Decides what becomes of a folder in a folder.
  enum Passage {
    /// A folder of this name at the target.
    case folder(String)
    /// Its files count as files of the folder that it lies in.
    case merged
    case skipped
  }

  private(set) var files: [File] = []
  private(set) var problems: [TransferProblem] = []
  /// Hidden files and folders that were skipped.
  private(set) var hidden = 0

  /// File systems that must not be entered.
  private let forbidden: Set<UInt64>
  private let passage: (_ name: String, _ parent: String, _ siblings: Set<String>) -> Passage
  /// Files and folders that were found already: a source may be given twice.
  private var seen: Set<PlainEntry.Identity> = []

  init(
    forbidding forbidden: Set<UInt64>,
    passage: @escaping (_ name: String, _ parent: String, _ siblings: Set<String>) -> Passage
  ) {
    self.forbidden = forbidden
    self.passage = passage
  }

  var bytes: Int64 { files.reduce(0) { $0 + $1.entry.size } }

  /// Adds a file, or the content of a folder. A source itself may be a link, and may be hidden.
  mutating func add(_ source: String, in folders: [String] = []) {
    do throws(Errno) {
      let real = try PathCalls.real(source)
      let name = real.split(separator: "/").last.map(String.init) ?? ""
      let entry = try PlainEntry(real)
      switch entry.kind {
      case .file: addFile(real, name, folders, entry)
      case .directory: addFolder(real, name, folders, entry)
      case .link, .other: problems.append(TransferProblem(source, "it is neither file nor folder"))
      }
    } catch {
      problems.append(TransferProblem(source, "\(error)"))
    }
  }

  private mutating func addFile(
    _ path: String, _ name: String, _ folders: [String], _ entry: PlainEntry
  ) {
    // Another link to the same file is another file.
    if paths.insert(path).inserted {
      files.append(File(path: path, name: name, folders: folders, entry: entry))
    }
  }
  private var paths: Set<String> = []

  private mutating func addFolder(
    _ path: String, _ name: String, _ folders: [String], _ entry: PlainEntry
  ) {
    var waiting = [(path: path, name: name, folders: folders, entry: entry)]
    while let (path, name, folders, entry) = waiting.popLast() {
      if forbidden.contains(entry.file.device) {
        problems.append(TransferProblem(path, "it lies in the space itself"))
        continue
      }
      if !seen.insert(entry.file).inserted { continue }
      let names: [String]
      do throws(Errno) { names = try PosixDirectory(path: path).list("").sorted() } catch {
        problems.append(TransferProblem(path, "\(error)"))
        continue
      }
      let siblings = Set(names)
      var inner: [(String, String, [String], PlainEntry)] = []
      for child in names {
        let childPath = path == "/" ? "/\(child)" : "\(path)/\(child)"
        if child.hasPrefix(".") {
          hidden += 1
          continue
        }
        guard let entry = look(at: childPath, child) else { continue }
        if entry.kind == .file {
          addFile(childPath, child, folders, entry)
          continue
        }
        switch passage(child, name, siblings) {
        case .folder(let target): inner.append((childPath, child, folders + [target], entry))
        case .merged: inner.append((childPath, child, folders, entry))
        case .skipped: break
        }
      }
      waiting += inner.reversed()
    }
  }

  /// nil for what is neither a file nor a folder; says so.
  private mutating func look(at path: String, _ name: String) -> PlainEntry? {
    do throws(Errno) {
      let entry = try PlainEntry(path)
      switch entry.kind {
      case .file, .directory: return entry
      case .link: problems.append(TransferProblem(path, "it is a symbolic link"))
      case .other: problems.append(TransferProblem(path, "it is neither file nor folder"))
      }
    } catch {
      let isForeign = error == .noEntry && name.contains("\u{FFFD}")
      problems.append(TransferProblem(path, isForeign ? "its name is not UTF-8" : "\(error)"))
    }
    return nil
  }
}
