/// The segments of a JPEG that its scans depend on (ITU T.81, annex B.2), read one by one and written anew
/// before the scan that needs them: with their fields alone, and without tables that no scan uses.
struct JPEGStructure {
  /// The segment that holds a table, and which of its tables it is: for the kinds "DC" and "AC" the upper
  /// four bits of `place` are 0 and 1.
  private struct Table: Hashable, Comparable {
    let mark: UInt8
    let place: UInt8

    static func < (one: Table, other: Table) -> Bool {
      (one.mark, one.place) < (other.mark, other.place)
    }
  }

  /// What a frame states (B.2.2).
  private struct Frame {
    let mark: UInt8
    /// Precision, lines, columns, the number of components, and three bytes of each.
    let fields: [UInt8]

    /// The number of each component, and its table of quantization.
    var components: [(number: UInt8, quantization: UInt8)] {
      stride(from: 6, to: fields.count, by: 3).map { (fields[$0], fields[$0 + 2]) }
    }

    var isArithmetic: Bool { mark >= 0xC9 }
    var isProgressive: Bool { mark & 3 == 2 }
    var isLossless: Bool { mark & 3 == 3 }
    var hasUnknownHeight: Bool { fields[1] == 0 && fields[2] == 0 }
  }

  private static let (quantization, huffman, conditioning): (UInt8, UInt8, UInt8) =
    (0xDB, 0xC4, 0xCC)

  private(set) var hasScans = false
  private var frame: Frame?
  /// The tables that were read since they were written, each with the byte that names it.
  private var tables: [Table: [UInt8]] = [:]
  /// The components that a scan had. Their quantization does not change any more.
  private var scanned: Set<UInt8> = []
  private var (restarts, writtenRestarts): ([UInt8], [UInt8]) = ([0, 0], [0, 0])
  /// How Adobe's segment says that the colours are coded.
  private var transform: UInt8?
  private var hasHeight = false

  static func segment(_ mark: UInt8, _ content: [UInt8]) -> [UInt8] {
    let length = content.count + 2
    return [0xFF, mark, UInt8(length >> 8), UInt8(length & 0xFF)] + content
  }

  /// Reads a segment. Returns what is to be written now: all that a scan needs, with its head.
  mutating func take(
    _ mark: UInt8, _ content: [UInt8]
  ) throws(StrippedPicture.Fault) -> [UInt8] {
    switch mark {
    case 0xEE:
      if content.count >= 12, content.starts(with: "Adobe".utf8) { transform = content[11] }
    case 0xC0...0xC3, 0xC9...0xCB: try takeFrame(mark, content)
    case JPEGStructure.quantization, JPEGStructure.huffman, JPEGStructure.conditioning:
      try takeTables(mark, content)
    case 0xDD:
      if content.count < 2 { throw .damaged }
      restarts = Array(content[..<2])
    case 0xDC:
      // The height, where the frame leaves it open.
      guard content.count >= 2, let frame, frame.hasUnknownHeight, hasScans, !hasHeight else {
        return []
      }
      hasHeight = true
      return JPEGStructure.segment(0xDC, Array(content[..<2]))
    case 0xDA: return try scan(content)
    default: throw .damaged
    }
    return []
  }

  private mutating func takeFrame(
    _ mark: UInt8, _ content: [UInt8]
  ) throws(StrippedPicture.Fault) {
    guard frame == nil, content.count >= 9 else { throw .damaged }
    let length = 6 + 3 * Int(content[5])
    if length < 9 || length > content.count { throw .damaged }
    frame = Frame(mark: mark, fields: Array(content[..<length]))
  }

  private mutating func takeTables(
    _ mark: UInt8, _ content: [UInt8]
  ) throws(StrippedPicture.Fault) {
    var rest = content[...]
    while let head = rest.first {
      let length: Int
      switch mark {
      case JPEGStructure.quantization: length = head >> 4 == 0 ? 65 : 129
      case JPEGStructure.huffman:
        length = 17 + rest.dropFirst().prefix(16).reduce(0) { $0 + Int($1) }
      default: length = 2
      }
      if head >> 4 > 1 || length > rest.count { throw .damaged }
      // The precision of a table of quantization stands where the others have their kind.
      let place = mark == JPEGStructure.quantization ? head & 15 : head
      tables[Table(mark: mark, place: place)] = Array(rest.prefix(length))
      rest = rest.dropFirst(length)
    }
  }

  /// A scan's head (B.2.3): the number of components, two bytes of each, and three that say what part of the
  /// coefficients it has.
  private mutating func scan(_ content: [UInt8]) throws(StrippedPicture.Fault) -> [UInt8] {
    guard let frame, let count = content.first, content.count >= 4 + 2 * Int(count) else {
      throw .damaged
    }
    let parts = stride(from: 1, to: 1 + 2 * Int(count), by: 2).map {
      (number: content[$0], tables: content[$0 + 1])
    }
    let isWhole = !frame.isProgressive && !frame.isLossless
    let range = isWhole ? [0, 63, 0] : Array(content[(1 + 2 * Int(count))..<(4 + 2 * Int(count))])

    var used: Set<Table> = []
    let code = frame.isArithmetic ? JPEGStructure.conditioning : JPEGStructure.huffman
    for part in parts {
      guard let component = frame.components.first(where: { $0.number == part.number }) else {
        throw .damaged
      }
      if scanned.insert(part.number).inserted, !frame.isLossless {
        used.insert(Table(mark: JPEGStructure.quantization, place: component.quantization))
      }
      let hasFirst = frame.isLossless || isWhole || range[0] == 0 && range[2] >> 4 == 0
      let hasOthers = isWhole || frame.isProgressive && range[0] > 0
      if hasFirst { used.insert(Table(mark: code, place: part.tables >> 4)) }
      if hasOthers { used.insert(Table(mark: code, place: 0x10 | part.tables & 15)) }
    }

    var head: [UInt8] = []
    if !hasScans {
      if let transform {
        head += JPEGStructure.segment(0xEE, Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, transform])
      }
      head += JPEGStructure.segment(frame.mark, frame.fields)
      hasScans = true
    }
    if restarts != writtenRestarts { head += JPEGStructure.segment(0xDD, restarts) }
    writtenRestarts = restarts
    return head + write(used)
      + JPEGStructure.segment(0xDA, Array(content[..<(1 + 2 * Int(count))]) + range)
  }

  /// The segments with those of some tables that were not written yet.
  private mutating func write(_ used: Set<Table>) -> [UInt8] {
    var contents: [UInt8: [UInt8]] = [:]
    for table in used.sorted() {
      guard let content = tables.removeValue(forKey: table) else { continue }
      contents[table.mark, default: []] += content
    }
    return contents.sorted { $0.key > $1.key }.flatMap { JPEGStructure.segment($0.key, $0.value) }
  }
}
