import AlbumModel
import ControlProtocol
import Posix

/// A file or folder that was not copied, or not removed, and why.
struct TransferProblem: Encodable, Equatable {
  let path: String
  let reason: String

  init(_ path: PlainPath, _ reason: String) {
    self.path = path.text
    self.reason = reason
  }
}

/// A file that has another name at the target, because its own was taken.
struct RenamedFile: Encodable, Equatable {
  let path: String
  let name: String

  init(_ path: PlainPath, _ name: FileName) { (self.path, self.name) = (path.text, name.text) }
}

/// Reports what a dry run would copy.
struct PlannedCopy: Encodable, Equatable {
  let path: String
  let target: String

  init(_ path: PlainPath, _ target: PlainPath) {
    (self.path, self.target) = (path.text, target.text)
  }
}

extension [TransferProblem] {
  /// At most 20 lines: an unplugged card has a thousand problems of one kind. JSON has all of them.
  var lines: [String] {
    let shown = prefix(20).map { "  \($0.path.printable): \($0.reason)" }
    return count > 20 ? shown + ["  and \(count - 20) more (--json lists all)"] : shown
  }
}

/// What became of a file of an import.
struct ImportedFile: Encodable, Equatable {
  enum State: String, Encodable {
    /// It was copied, and the copy is on disk.
    case imported
    /// The album had it already.
    case present
    case failed
    /// The import ended before the file was surely on disk.
    case unfinished
  }
  let path: String
  let state: State
  /// The path in the space; of a dry run, the one that it would get.
  var copy: String?
  /// Only with `--move`: true if the original was removed.
  var removed: Bool?
  /// Why it was not copied, or why the original stays.
  var reason: String?

  init(_ path: PlainPath, _ state: State, copy: PlainPath? = nil, reason: String? = nil) {
    (self.path, self.state, self.reason) = (path.text, state, reason)
    self.copy = copy?.text
  }
}

/// Reports an `import`. Counts only what is on disk.
struct ImportReport: Encodable {
  let version = 1
  var dryRun = false
  /// False if the import ended early: a signal, a full disk, a dead daemon.
  var complete = false
  /// Files that were copied, and their bytes.
  var imported = 0
  var bytes: Int64 = 0
  /// Files that the album has already.
  var duplicates = 0
  /// Originals that `--move` removed.
  var removed = 0
  /// Hidden files and folders that were skipped.
  var hidden = 0
  /// What other programs keep for themselves, and what `--exclude` names.
  var leftOut: [OmissionReport.Named] = []
  var renamed: [RenamedFile] = []
  var errors: [TransferProblem] = []
  /// All files, each with what became of it.
  var files: [ImportedFile] = []
  /// Only of a dry run.
  var plan: [PlannedCopy]?
  /// Duplicates whose names the album does not have.
  var otherNames: [RenamedFile] = []

  private enum CodingKeys: CodingKey {
    case version, dryRun, complete, imported, bytes, duplicates, removed, hidden, leftOut, renamed
    case errors, files, plan
  }

  /// Notes a file that was not copied.
  mutating func fail(_ path: PlainPath, _ reason: String) {
    errors.append(TransferProblem(path, reason))
    files.append(ImportedFile(path, .failed, reason: reason))
  }

  /// Notes that the original of `files[index]` stays, though it was to be removed.
  mutating func keepOriginal(_ index: Int, _ path: PlainPath, _ reason: String) {
    errors.append(TransferProblem(path, reason))
    files[index].reason = reason
  }

  /// Notes the files that nothing is known of.
  mutating func addUnfinished(_ paths: [PlainPath]) {
    let known = Set(files.map(\.path))
    files += paths.filter { !known.contains($0.text) }.map { ImportedFile($0, .unfinished) }
  }
}

/// Reports an `export`. Counts only what was read back and compared.
struct ExportReport: Encodable {
  let version = 1
  var complete = false
  /// Files that were copied, and their bytes.
  var exported = 0
  var bytes: Int64 = 0
  /// Files that were there already with the same content.
  var present = 0
  /// Hidden files and folders that were skipped.
  var hidden = 0
  var renamed: [RenamedFile] = []
  var errors: [TransferProblem] = []
}
