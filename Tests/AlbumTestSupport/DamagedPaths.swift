package import AlbumCheck

extension CheckReport {
  /// Paths that damage affects, sorted, each once.
  package var damagedPaths: [String] {
    Set(findings.filter { $0.severity == .damage }.compactMap(\.path)).sorted()
  }
}
