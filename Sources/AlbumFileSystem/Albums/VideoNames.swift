/// Films, by the extensions of their names: for counting them where no decoder looks at the content.
enum VideoNames {
  private static let extensions: Set<[UInt8]> = Set(
    [
      "mov", "mp4", "m4v", "3gp", "3g2", "avi", "mkv", "webm", "mts", "m2ts", "mpg", "mpeg", "wmv",
      "flv", "ogv", "insv", "lrv",
    ].map { Array($0.utf8) })

  /// True for the path of a film.
  static func match(_ path: [UInt8]) -> Bool {
    guard let dot = path.lastIndex(of: UInt8(ascii: ".")), path.count - dot <= 6 else {
      return false
    }
    return extensions.contains(path[(dot + 1)...].map { 65...90 ~= $0 ? $0 | 0x20 : $0 })
  }
}
