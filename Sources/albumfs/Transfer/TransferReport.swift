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

/// Reports an `import`. Counts only what is on disk.
struct ImportReport: Encodable {
  let version = 1
  var dryRun = false
  /// False if the import ended early: a signal, a full disk, a dead daemon.
  var complete = false
  /// Files that were copied, and their bytes.
  var imported = 0
  var bytes: Int64 = 0
  /// Files whose content is in the album already.
  var duplicates = 0
  /// Originals that `--move` removed.
  var removed = 0
  /// Hidden files and folders that were skipped.
  var hidden = 0
  var renamed: [RenamedFile] = []
  var errors: [TransferProblem] = []
  /// Only of a dry run.
  var plan: [PlannedCopy]?
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
