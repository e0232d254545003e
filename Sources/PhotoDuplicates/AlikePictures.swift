import AlbumModel

/// Which pictures are the same picture in other files: smaller, or saved in another format.
///
/// Their perceptual hashes differ in few bits, their shapes are equal, and nothing that both state differs:
/// neither the date of capture nor the camera. Two pictures of one size, one camera and one format are two
/// shots, as in a burst, or a shot and its edit.
enum AlikePictures {
  /// Of 128 bits.
  static let distanceLimit = 4
  /// A picture with less contrast, such as a white page, has a hash that many share.
  private static let leastBits = 8

  /// Returns, for each picture that equals a larger one, the place of that. No picture follows another that
  /// follows one itself. `units` are in the order in which they are to be kept, the largest first.
  static func leaders(of units: [PhotoUnit]) -> [Int: Int] {
    var leaders: [Int: Int] = [:]
    var index = HashIndex()
    for (place, unit) in units.enumerated() {
      guard let hash = unit.facts.hash, !unit.isFilm, says(hash) else { continue }
      let near = index.candidates(of: hash).filter { other in
        units[other].facts.hash.map { $0.distance(to: hash) <= distanceLimit } ?? false
          && areAlike(units[other], unit)
      }
      let nearest = near.min { one, other in
        (units[one].facts.hash?.distance(to: hash) ?? 0, one)
          < (units[other].facts.hash?.distance(to: hash) ?? 0, other)
      }
      if let nearest { leaders[place] = nearest } else { index.add(hash, place) }
    }
    return leaders
  }

  private static func says(_ hash: PictureHash) -> Bool {
    [hash.rows, hash.columns].allSatisfy { half in
      leastBits...(64 - leastBits) ~= half.nonzeroBitCount
    }
  }

  private static func areAlike(_ one: PhotoUnit, _ other: PhotoUnit) -> Bool {
    guard let size = one.facts.dimensions, let otherSize = other.facts.dimensions,
      haveSameShape(size, otherSize)
    else { return false }
    let dates = [one, other].compactMap { $0.facts.taken?.clockSeconds }
    let cameras = [one, other].compactMap(\.facts.camera)
    if Set(dates).count > 1 || Set(cameras).count > 1 { return false }
    let areOwnShots = cameras.count == 2 && one.pixels == other.pixels && one.ending == other.ending
    return !areOwnShots
  }

  /// Either way round: a person may have turned one of them. Small pictures are rounded to whole pixels.
  private static func haveSameShape(_ one: PictureDimensions, _ other: PictureDimensions) -> Bool {
    let (long, short) = (max(one.width, one.height), min(one.width, one.height))
    let (otherLong, otherShort) = (
      max(other.width, other.height), min(other.width, other.height)
    )
    let (left, right) = (Double(long) * Double(otherShort), Double(otherLong) * Double(short))
    return abs(left - right) <= 0.02 * max(left, right)
  }
}

/// Finds hashes that differ in few bits without comparing all pairs: of eight parts of two such hashes, at
/// least two are equal.
struct HashIndex {
  private var places: [Int: [Int]] = [:]

  mutating func add(_ hash: PictureHash, _ place: Int) {
    for key in HashIndex.keys(hash) { places[key, default: []].append(place) }
  }

  /// Those of which at least one part is equal, each once, in ascending order.
  func candidates(of hash: PictureHash) -> [Int] {
    var found: Set<Int> = []
    for key in HashIndex.keys(hash) { found.formUnion(places[key] ?? []) }
    return found.sorted()
  }

  private static func keys(_ hash: PictureHash) -> [Int] {
    (0..<8).map { part in
      let half = part < 4 ? hash.rows : hash.columns
      return part << 16 | Int(half >> UInt64(part % 4 * 16) & 0xFFFF)
    }
  }
}
