package import AlbumModel

/// Towns of the world with their names in many languages, so that a search finds photos by places. The data
/// are those of GeoNames (geonames.org, CC BY 4.0), which the package libtimezonemap-data of Debian and
/// Ubuntu has as a file. Without that file places have no names.
package final class PlaceTable: Sendable {
  /// Where the package has the towns and the names of countries.
  package static let townFile = "/usr/share/libtimezonemap/ui/cities15000.txt"
  package static let countryFile = "/usr/share/libtimezonemap/ui/countryInfo.txt"
  /// Bytes of a file. The package's is smaller by far.
  package static let fileLimit = 32 << 20

  private struct Town {
    let latitude: Float
    let longitude: Float
    /// What a photo must not be farther away from to be near the town, in kilometres.
    let radius: Float
    /// The texts of a search, in `texts`.
    let text: Range<Int32>
    let name: String
    let country: String
  }

  private let towns: [Town]
  private let texts: [UInt8]
  /// The towns in each square of one degree.
  private let squares: [Int32: [Int32]]

  /// A photo farther from every town than this, in kilometres, is at none.
  private static let reach: Float = 40

  /// The table of the package, whose files `read` returns; nil where it is not installed.
  package static func usual(_ read: (String) -> [UInt8]?) -> PlaceTable? {
    read(townFile).flatMap { PlaceTable(towns: $0, countries: read(countryFile) ?? []) }
  }

  /// Reads lines of fields with tabs between, as GeoNames writes them, and skips what is none. nil if there
  /// is no town.
  package init?(towns file: [UInt8], countries: [UInt8]) {
    let names = PlaceTable.countries(countries)
    var towns: [Town] = []
    var texts: [UInt8] = []
    for line in file.split(separator: UInt8(ascii: "\n")) {
      guard let town = PlaceTable.town(line, names, &texts) else { continue }
      towns.append(town)
    }
    if towns.isEmpty || towns.count >= Int(UInt16.max) { return nil }
    (self.towns, self.texts) = (towns, texts)
    squares = Dictionary(grouping: towns.indices.map { Int32($0) }) { number in
      let town = towns[Int(number)]
      return PlaceTable.square(town.latitude, town.longitude)
    }
  }

  // MARK: Reading

  /// The English names by their codes of two letters: the first and the fifth field.
  private static func countries(_ file: [UInt8]) -> [[UInt8]: String] {
    var names: [[UInt8]: String] = [:]
    for line in file.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
      let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
      if fields.count > 4, fields[0].count == 2 {
        names[Array(fields[0])] = String(decoding: fields[4], as: UTF8.self)
      }
    }
    return names
  }

  /// Number, name, name in ASCII, other names with commas between (those in ASCII count: a search compares
  /// letters without marks, and the others would take most of the time), latitude, longitude, two kinds, the
  /// code of the country, … and as the fifteenth the people.
  private static func town(
    _ line: ArraySlice<UInt8>, _ countries: [[UInt8]: String], _ texts: inout [UInt8]
  ) -> Town? {
    let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
    guard fields.count > 14, !fields[1].isEmpty,
      let latitude = Float(String(decoding: fields[4], as: UTF8.self)), abs(latitude) <= 90,
      let longitude = Float(String(decoding: fields[5], as: UTF8.self)), abs(longitude) <= 180
    else { return nil }
    let country = countries[Array(fields[8])] ?? ""
    let people = Int(String(decoding: fields[14], as: UTF8.self)) ?? 0
    let start = texts.count
    var search = SearchText()
    search.add(.place, Array(fields[1]))
    for other in fields[3].split(separator: UInt8(ascii: ",")) where other.allSatisfy({ $0 < 0x80 })
    {
      search.add(.place, Array(other))
    }
    search.add(.place, country)
    texts += search.bytes
    return Town(
      latitude: latitude, longitude: longitude, radius: radius(people: people),
      text: Int32(start)..<Int32(texts.count), name: String(decoding: fields[1], as: UTF8.self),
      country: country)
  }

  /// Larger towns reach farther.
  private static func radius(people: Int) -> Float {
    switch people {
    case 1_000_000...: 25
    case 300_000...: 15
    case 100_000...: 10
    default: 5
    }
  }

  // MARK: Nearness

  private static func square(_ latitude: Float, _ longitude: Float) -> Int32 {
    Int32((latitude + 90).rounded(.down)) * 360
      + (Int32((longitude + 180).rounded(.down)) + 360) % 360
  }

  /// The towns within a distance, with their distances in kilometres.
  private func towns(
    near latitude: Float, _ longitude: Float, within limit: Float
  ) -> [(town: Int, distance: Float)] {
    let degrees = limit / 111
    let widening = max(0.01, Float.cosine(ofDegrees: latitude))
    let steps = min(180, Int((degrees / widening).rounded(.up)))
    var found: [(Int, Float)] = []
    for row in -1...1 {
      let north = latitude + Float(row)
      if abs(north) > 90 { continue }
      for step in -steps...steps {
        var east = longitude + Float(step)
        if east < -180 { east += 360 }
        if east >= 180 { east -= 360 }
        for number in squares[PlaceTable.square(north, east)] ?? [] {
          let distance = distance(of: towns[Int(number)], latitude, longitude, widening)
          if distance <= limit { found.append((Int(number), distance)) }
        }
      }
    }
    return found
  }

  private func distance(
    of town: Town, _ latitude: Float, _ longitude: Float, _ widening: Float
  ) -> Float {
    var east = abs(town.longitude - longitude)
    if east > 180 { east = 360 - east }
    let (x, y) = (east * widening, town.latitude - latitude)
    return (x * x + y * y).squareRoot() * 111.2
  }

  /// The number of the town that a place belongs to, from 1 on; 0 far from all. A town is a point in the
  /// table: within the radius of several, a large one counts from farther away than a suburb.
  package func nearest(to place: GeographicPlace) -> UInt16 {
    let near = towns(
      near: Float(place.latitude), Float(place.longitude), within: PlaceTable.reach)
    let around = near.filter { $0.distance <= towns[$0.town].radius }
    let found =
      around.min { $0.distance / towns[$0.town].radius < $1.distance / towns[$1.town].radius }
      ?? near.min { $0.distance < $1.distance }
    return found.map { UInt16($0.town + 1) } ?? 0
  }

  package func name(near place: GeographicPlace) -> String? { name(of: nearest(to: place)) }

  /// The town of a number, and its country in English: `Paris, France`. nil for 0.
  package func name(of number: UInt16) -> String? {
    guard number > 0, Int(number) <= towns.count else { return nil }
    let town = towns[Int(number) - 1]
    return town.country.isEmpty ? town.name : "\(town.name), \(town.country)"
  }

  // MARK: Searching

  /// The towns that have these words in a name or are near one that has.
  func matches(_ needle: Needle) -> PlaceSet {
    var found = [Bool](repeating: false, count: towns.count + 1)
    let texts = texts
    for (number, town) in towns.enumerated() {
      let text = Int(town.text.lowerBound)..<Int(town.text.upperBound)
      if !needle.isIn(texts.span.extracting(text)) { continue }
      found[number + 1] = true
      for near in towns(near: town.latitude, town.longitude, within: town.radius) {
        found[near.town + 1] = true
      }
    }
    return PlaceSet(found)
  }
}

/// Some towns of a table.
struct PlaceSet: Equatable, Sendable {
  private let isIn: [Bool]

  init(_ isIn: [Bool]) { self.isIn = isIn }

  func contains(_ number: UInt16) -> Bool { Int(number) < isIn.count && isIn[Int(number)] }
}

extension Float {
  /// By its series, which suffices for the width of a degree.
  fileprivate static func cosine(ofDegrees degrees: Float) -> Float {
    let x = degrees * .pi / 180
    let square = x * x
    return 1 - square / 2 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56)))
  }
}
