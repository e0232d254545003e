/// The settings of mirage, which Python's configparser writes: `name = value`, one a line, below headings in
/// brackets.
enum MirageSettings {
  /// The paths of the tree among the recent files and as the last directory, the content without these lines,
  /// and the paths that the user chose. nil if the content is of another form.
  static func withoutHistory(_ content: [UInt8], inside: ([UInt8]) -> [UInt8]?) -> (
    paths: [[UInt8]], rest: [UInt8], chosen: [[UInt8]]
  )? {
    let newline = UInt8(ascii: "\n")
    guard content.first == UInt8(ascii: "["), content.last == newline else { return nil }
    let lines = content.dropLast().split(separator: newline, omittingEmptySubsequences: false)
    var paths: [[UInt8]] = []
    var chosen: [[UInt8]] = []
    var gone: Set<[UInt8]> = []
    for line in lines {
      guard let (name, value) = setting(line), let path = inside(value) else { continue }
      if let names = history(name) {
        paths.append(path)
        gone.formUnion(names.map { Array($0.utf8) })
      } else {
        chosen.append(path)
      }
    }
    let rest = lines.filter { line in !gone.contains { line.starts(with: $0 + Array(" = ".utf8)) } }
    return (paths, Array(rest.joined(separator: [newline])) + [newline], chosen)
  }

  private static func setting(_ line: ArraySlice<UInt8>) -> (name: String, value: [UInt8])? {
    guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let name = String(decoding: line[..<equals], as: UTF8.self)
    guard name.hasSuffix(" "), line[(equals + 1)...].first == UInt8(ascii: " ") else { return nil }
    return (String(name.dropLast()), Array(line[(equals + 2)...]))
  }

  /// The settings that go with an entry of the history: the number beside a recent file is its path's length.
  private static func history(_ name: String) -> [String]? {
    if name == "last_dir" { return [name] }
    guard name.hasPrefix("urls["), name.hasSuffix(",0]") else { return nil }
    return [name, "num[\(name.dropFirst(5).dropLast(3))]"]
  }
}
