/// The files of gvfsd-metadata: a tree, which it writes anew now and then, and a journal of changes since.
/// All numbers are big-endian. Their formats are documented in gvfs' `metadata/file-format.txt`.
enum GvfsFormat {
  struct NotUnderstood: Error {}

  /// Real trees have some thousand nodes.
  private static let nodeLimit = 1_000_000
  private static let depthLimit = 256
  /// Bytes of all paths. A prepared tree leads from many nodes to the same long names.
  private static let pathLimit = 64 << 20

  /// The tree's random tag, which its journal's name contains, and the paths of all its nodes.
  static func tree(_ content: [UInt8]) throws(NotUnderstood) -> (tag: UInt32, paths: [[UInt8]]) {
    let reader = Reader(content)
    guard content.starts(with: [0xDA, 0x1A] + Array("meta".utf8)), content.count >= 32,
      content[6] == 1
    else { throw NotUnderstood() }
    let tag = try reader.number(at: 12)
    let root = Int(try reader.number(at: 16))
    var paths: [[UInt8]] = []
    var length = 0
    // Each entry: name, children, metadata, time.
    var waiting = [(children: Int(try reader.number(at: root + 4)), path: [UInt8](), depth: 0)]
    while let (children, path, depth) = waiting.popLast() {
      if children == 0 { continue }
      if depth == depthLimit { throw NotUnderstood() }
      let count = Int(try reader.number(at: children))
      if count > content.count / 16 || paths.count + count > nodeLimit { throw NotUnderstood() }
      for index in 0..<count {
        let place = children + 4 + 16 * index
        let name = try reader.string(at: Int(try reader.number(at: place)))
        let inner = path + [UInt8(ascii: "/")] + name
        length += inner.count
        if length > pathLimit { throw NotUnderstood() }
        paths.append(inner)
        waiting.append((Int(try reader.number(at: place + 4)), inner, depth + 1))
      }
    }
    return (tag, paths)
  }

  /// The journal's tag, and the paths that its entries name.
  static func journal(_ content: [UInt8]) throws(NotUnderstood) -> (tag: UInt32, paths: [[UInt8]]) {
    let reader = Reader(content)
    guard content.starts(with: [0xDA, 0x1A] + Array("jour".utf8)), content.count >= 20,
      content[6] == 1
    else { throw NotUnderstood() }
    let tag = try reader.number(at: 8)
    var paths: [[UInt8]] = []
    var place = 20
    for _ in 0..<(try reader.number(at: 16)) {
      let size = Int(try reader.number(at: place))
      // Size, checksum, time, operation, path, size.
      guard size >= 24, size % 4 == 0, place + size <= content.count,
        try reader.number(at: place + size - 4) == size
      else { throw NotUnderstood() }
      let path = try reader.string(at: place + 17)
      paths.append(path)
      // A copy names its source.
      if content[place + 16] == 3 { paths.append(try reader.string(at: place + 18 + path.count)) }
      place += size
    }
    return (tag, paths)
  }

  private struct Reader {
    private let content: [UInt8]
    init(_ content: [UInt8]) { self.content = content }

    func number(at place: Int) throws(NotUnderstood) -> UInt32 {
      guard place >= 0, place <= content.count - 4 else { throw NotUnderstood() }
      return content[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// A string that ends with a zero.
    func string(at place: Int) throws(NotUnderstood) -> [UInt8] {
      guard place >= 0, place < content.count, let end = content[place...].firstIndex(of: 0),
        end - place <= 4096 * 8
      else { throw NotUnderstood() }
      return Array(content[place..<end])
    }
  }
}
