/// A HEIC whose main picture is a grid of tiles, as telephones write it, with a small picture beside it. Built
/// of HEICs with one picture each.
package struct HEIFGrid {
  /// HEICs of one size, row by row.
  package var tiles: [[UInt8]]
  package var columns: Int
  package var tileSize: (width: Int, height: Int)
  package var thumbnail: (bytes: [UInt8], width: Int, height: Int)?

  package init(tiles: [[UInt8]], columns: Int, tileSize: (width: Int, height: Int)) {
    self.tiles = tiles
    self.columns = columns
    self.tileSize = tileSize
  }

  /// What happens to a tile.
  package enum Tile: Sendable {
    case whole
    /// Its bytes are zeros.
    case blank
    /// Its bytes lie behind the end of the file.
    case outside
    /// It has no bytes.
    case empty
  }

  /// `state` tells the state of each tile by its number.
  package func file(_ state: (Int) -> Tile = { _ in .whole }) -> [UInt8] {
    let rows = tiles.count / columns
    var grid: [UInt8] = [0, 0, UInt8(rows - 1), UInt8(columns - 1)]
    grid += big(tileSize.width * columns, 2) + big(tileSize.height * rows, 2)
    var contents = tiles.map(Self.payload)
    for number in tiles.indices {
      switch state(number) {
      case .blank: contents[number] = [UInt8](repeating: 0, count: contents[number].count)
      case .empty: contents[number] = []
      default: break
      }
    }
    contents.append(grid)
    if let thumbnail { contents.append(Self.payload(thumbnail.bytes)) }
    let fileType = box("ftyp", Array("heic".utf8) + big(0, 4) + Array("mif1heic".utf8))
    let length = meta(contents, at: 0, state).count
    let start = fileType.count + length + 8
    return fileType + meta(contents, at: start, state) + box("mdat", Array(contents.joined()))
  }

  private var gridItem: Int { tiles.count + 1 }

  private func meta(_ contents: [[UInt8]], at start: Int, _ state: (Int) -> Tile) -> [UInt8] {
    let handler = full("hdlr", big(0, 4) + Array("pict".utf8) + big(0, 13))
    let primary = full("pitm", big(gridItem, 2))
    var entries = big(contents.count, 2)
    for number in contents.indices {
      let kind = number + 1 == gridItem ? "grid" : "hvc1"
      entries += full("infe", big(number + 1, 2) + big(0, 2) + Array(kind.utf8) + [0], version: 2)
    }
    var references = box(
      "dimg", big(gridItem, 2) + big(tiles.count, 2) + (1...tiles.count).flatMap { big($0, 2) })
    if thumbnail != nil {
      references += box("thmb", big(gridItem + 1, 2) + big(1, 2) + big(gridItem, 2))
    }
    return full(
      "meta",
      handler + primary + full("iinf", entries) + full("iref", references) + properties
        + locations(contents, at: start, state))
  }

  private var properties: [UInt8] {
    let rows = tiles.count / columns
    var all =
      Self.configuration(of: tiles[0]) + size(tileSize.width, tileSize.height)
      + size(tileSize.width * columns, tileSize.height * rows)
    if let thumbnail {
      all += Self.configuration(of: thumbnail.bytes) + size(thumbnail.width, thumbnail.height)
    }
    var uses = big(tiles.count + (thumbnail == nil ? 1 : 2), 4)
    for tile in 1...tiles.count { uses += big(tile, 2) + [2, 0x81, 2] }
    uses += big(gridItem, 2) + [1, 3]
    if thumbnail != nil { uses += big(gridItem + 1, 2) + [2, 0x84, 5] }
    return box("iprp", box("ipco", all) + full("ipma", uses))
  }

  private func locations(_ contents: [[UInt8]], at start: Int, _ state: (Int) -> Tile) -> [UInt8] {
    var bytes: [UInt8] = [0x44, 0] + big(contents.count, 2)
    var place = start
    for (number, content) in contents.enumerated() {
      let isOutside: Bool =
        if number < tiles.count, case .outside = state(number) { true } else { false }
      bytes += big(number + 1, 2) + big(0, 2) + big(1, 2)
      bytes += big(isOutside ? 1 << 28 : place, 4) + big(content.count, 4)
      place += content.count
    }
    return full("iloc", bytes)
  }

  private func size(_ width: Int, _ height: Int) -> [UInt8] {
    full("ispe", big(width, 4) + big(height, 4))
  }

  /// The content of the box `mdat` of a HEIC with one picture and nothing else.
  private static func payload(_ heic: [UInt8]) -> [UInt8] {
    Array((find("mdat", in: heic) ?? []).dropFirst(8))
  }

  /// The box `hvcC`.
  private static func configuration(of heic: [UInt8]) -> [UInt8] { find("hvcC", in: heic) ?? [] }

  private static func find(_ name: String, in heic: [UInt8]) -> [UInt8]? {
    let wanted = Array(name.utf8)
    for place in 4..<heic.count - 4 where heic[place..<place + 4].elementsEqual(wanted) {
      let length = heic[place - 4..<place].reduce(0) { $0 << 8 | Int($1) }
      return Array(heic[place - 4..<min(heic.count, place - 4 + length)])
    }
    return nil
  }

  private func box(_ name: String, _ content: [UInt8]) -> [UInt8] {
    big(content.count + 8, 4) + Array(name.utf8) + content
  }

  private func full(_ name: String, _ content: [UInt8], version: UInt8 = 0) -> [UInt8] {
    box(name, [version, 0, 0, 0] + content)
  }

  private func big(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { $0 >= 8 ? 0 : UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
