import AlbumModel
import ControlProtocol
import PhotoGroups

/// Photos that were deleted, each with the files that belonged to it and went with it.
enum DeletedGroups {
  /// Files of one folder that went with less time between them went together.
  private static let pause = 60.0

  /// `files` are in the order of their deletion, the newest first, and so are the groups; the photo comes
  /// first in each. What was replaced or overwritten stands for itself.
  static func groups(_ files: [DeletedFileEntry]) -> [[DeletedFileEntry]] {
    var runs: [[Int]] = []
    var open: [Substring: (run: Int, names: Set<FileName>)] = [:]
    for (place, file) in files.enumerated() {
      let folder = file.path.prefix(upTo: file.path.lastIndex(of: "/") ?? file.path.startIndex)
      guard file.cause == "removed", let name = name(of: file) else {
        runs.append([place])
        continue
      }
      if let last = open[folder], !last.names.contains(name),
        let before = runs[last.run].last, files[before].deleted - file.deleted <= pause
      {
        runs[last.run].append(place)
        open[folder]?.names.insert(name)
      } else {
        open[folder] = (runs.count, [name])
        runs.append([place])
      }
    }
    return runs.flatMap { parts(of: $0, files) }.sorted { $0.newest < $1.newest }.map(\.files)
  }

  private static func name(of file: DeletedFileEntry) -> FileName? {
    file.path.split(separator: "/").last.flatMap { try? FileName(Array($0.utf8)) }
  }

  /// The groups of files that went in one run.
  private static func parts(
    of run: [Int], _ files: [DeletedFileEntry]
  ) -> [(newest: Int, files: [DeletedFileEntry])] {
    let names = run.compactMap { name(of: files[$0]) }
    guard run.count > 1, names.count == run.count else { return run.map { ($0, [files[$0]]) } }
    return PhotoGrouping.groups(of: names).map { group in
      let places = group.members.map { run[$0.place] }
      return (places.min() ?? 0, places.map { files[$0] })
    }
  }
}
