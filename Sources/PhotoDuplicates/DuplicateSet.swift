import AlbumModel

/// Photos that a person may want once.
package struct DuplicateSet: Sendable {
  /// What a photo is to the one that stays.
  package enum Relation: String, Sendable {
    case kept
    /// It holds the same bytes as that one, or as another of the set that is before it.
    case bytes
    /// It shows the same picture.
    case picture
  }

  package struct Member: Sendable {
    package let unit: PhotoUnit
    package let relation: Relation
    /// The first file of a photo of the set beside which nothing is lost without this one: all its files are
    /// there, too, and people say all of that one that they say of this one. nil if there is none.
    package let twin: UInt64?
    package var isSurplus: Bool { twin != nil }
  }

  /// At least two. The one that stays comes first.
  package let members: [Member]
}

/// Finds equal photos in all albums of a space. A photo with all that belongs to it counts as one, and so
/// does a file that has several names.
package struct DuplicateSearch {
  private let units: [PhotoUnit]
  /// How many names the first file of each unit has, by inode.
  private let names: [UInt64: Int]
  private var contents = FileContents()

  /// `units` are in the order in which a person sees them.
  package init(_ units: [PhotoUnit]) {
    names = units.reduce(into: [:]) { $0[$1.leader.inode, default: 0] += 1 }
    var known: Set<UInt64> = []
    self.units = units.filter { known.insert($0.leader.inode).inserted }
  }

  /// How many pictures have no perceptual hash, because their thumbnails are not made yet, or were made by an
  /// older albumfs.
  package var unhashed: Int {
    units.count { !$0.isFilm && $0.facts.hash == nil }
  }

  /// Sets in the order of the units that stay.
  package mutating func sets(from source: some DuplicateSource) -> [DuplicateSet] {
    contents.add(units.map { (file: $0.leader, folder: $0.folder) }, from: source)
    let classes = Dictionary(grouping: units.indices) { contents.number(of: units[$0].leader) ?? 0 }
    let equal = classes.values.filter { $0.count > 1 }.joined()
    contents.add(
      equal.flatMap { place in
        units[place].files.dropFirst().map { (file: $0, folder: units[place].folder) }
      }, from: source)
    if source.isStopped { return [] }
    let firsts = classes.values.map { ordered($0) }.sorted { size($0[0]) < size($1[0]) }
    return sets(of: firsts)
  }

  /// Less for what is to be kept of pictures that are alike: the one with the most pixels, then what a camera
  /// wrote and hardly any export is, then the one with the most bytes.
  private func size(_ place: Int) -> (Int, Int, Int64, Int) {
    let unit = units[place]
    return (-unit.pixels, unit.isInCamerasFormat ? 0 : 1, -unit.leader.size, place)
  }

  /// `classes` have the places of equal units, the one to keep first; the largest picture comes first.
  private func sets(of classes: [[Int]]) -> [DuplicateSet] {
    let leaders = AlikePictures.leaders(of: classes.map { units[$0[0]] })
    let followers = Dictionary(grouping: leaders.keys.sorted()) { leaders[$0] ?? 0 }
    var found: [(first: Int, set: DuplicateSet)] = []
    for (number, places) in classes.enumerated() where leaders[number] == nil {
      let others = (followers[number] ?? []).map { classes[$0] }
      if places.count + others.count < 2 { continue }
      let all =
        members(of: places, first: .kept) + others.flatMap { members(of: $0, first: .picture) }
      found.append((places[0], DuplicateSet(members: all)))
    }
    return found.sorted { $0.first < $1.first }.map(\.set)
  }

  /// Equal units, of which the first stays.
  private func members(of places: [Int], first: DuplicateSet.Relation) -> [DuplicateSet.Member] {
    let kept = units[places[0]]
    return places.map { place in
      let unit = units[place]
      let isTwin = place != places[0] && isSurplus(unit, beside: kept)
      return DuplicateSet.Member(
        unit: unit, relation: place == places[0] ? first : .bytes,
        twin: isTwin ? kept.leader.inode : nil)
    }
  }

  /// The one to keep first: that of which people say most, that has most names and most files, and that lies
  /// in an album with a name of its own.
  private func ordered(_ places: [Int]) -> [Int] {
    func rank(_ place: Int) -> (Int, Int, Int, Int, Int) {
      let unit = units[place]
      return (
        -unit.said.reduce(0) { $0 + $1.noteCount }, -(names[unit.leader.inode] ?? 1),
        -unit.files.count,
        unit.isInDatedAlbum ? 1 : 0, place
      )
    }
    return places.sorted { rank($0) < rank($1) }
  }

  private func isSurplus(_ unit: PhotoUnit, beside kept: PhotoUnit) -> Bool {
    names[unit.leader.inode] == 1
      && unit.files.indices.allSatisfy { place in
        guard let number = contents.number(of: unit.files[place]) else { return false }
        return kept.files.indices.contains { other in
          contents.number(of: kept.files[other]) == number
            && unit.said[place].isCovered(by: kept.said[other])
        }
      }
  }
}
