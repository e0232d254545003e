package import AlbumModel

/// Files of one folder that belong together: a photo, its sidecars, the film of its Live Photo, the JPEG
/// beside its raw picture, and its edited twins. Every tool that moves, dates, numbers or copies files
/// treats a group as one.
package struct PhotoGroup: Equatable, Sendable {
  package struct Member: Equatable, Sendable {
    /// The place of the file in the list that was grouped.
    package let place: Int
    package let name: MemberName
    package let part: GroupPart
  }

  /// The photo comes first, and its date is that of the group. Without a photo, the film comes first.
  package let members: [Member]

  /// The same files by their places in another list.
  fileprivate func with(_ places: [Int]) -> PhotoGroup {
    PhotoGroup(
      members: members.map { Member(place: places[$0.place], name: $0.name, part: $0.part) })
  }

  /// True of a photo with the film of its moment: a Live Photo.
  package var isLive: Bool { members[0].part.isPicture && members.contains { $0.part == .film } }

  /// True of a raw picture with the picture that the camera made of it.
  package var isRawAndPicture: Bool {
    members[0].part == .rawPicture && members.dropFirst().contains { $0.part.isPicture }
  }

  /// True of a photo or film with an edited form of it.
  package var isEdited: Bool { members.dropFirst().contains { $0.part == .edited } }
}

/// What a file is in its group.
package enum GroupPart: String, Sendable {
  case rawPicture = "raw"
  case picture = "photo"
  case film
  /// An edited twin of a picture or film before it.
  case edited
  /// It says something of another file.
  case sidecar
  case other

  package var isPicture: Bool { self == .picture || self == .rawPicture }
}

/// Groups the files of a folder. By their names, and by what Apple writes into the two parts of a Live Photo.
package struct PhotoGrouping {
  private let roles: [FileRole]
  private let identifier: (Int) -> String?
  /// The places of the files that lead each group, and of those that follow.
  private var leaders: [Int] = []
  private var followers: [Int: [PhotoGroup.Member]] = [:]
  /// The leader of each file that is placed.
  private var leaderOf: [Int: Int] = [:]

  /// Returns every file in exactly one group, in the order of the first member.
  ///
  /// - Parameter identifier: returns what ties the film at a place to its photo; nil if it says nothing. It
  ///   is asked only where names alone say that a film and a photo belong together.
  package static func groups(
    of names: [FileName], identifier: (Int) -> String? = { _ in nil }
  ) -> [PhotoGroup] {
    withoutActuallyEscaping(identifier) { identifier in
      var grouping = PhotoGrouping(roles: names.map(FileRole.init), identifier: identifier)
      let pictures = grouping.places(of: [.rawPicture, .picture])
      grouping.place(pictures)
      grouping.placeFilms(beside: pictures)
      grouping.placeSidecars()
      return grouping.groups()
    }
  }

  /// Returns the groups of several files alone, in no order. Of 100,000 names, those that are in no company
  /// take a few bytes each.
  package static func several(
    of names: [FileName], identifier: (Int) -> String? = { _ in nil }
  ) -> [PhotoGroup] {
    parts(of: names).flatMap { places in
      groups(of: places.map { names[$0] }) { identifier(places[$0]) }
        .filter { $0.members.count > 1 }.map { $0.with(places) }
    }
  }

  /// How many files are grouped at once.
  private static let partSize = 4096

  /// The files that may belong to others, in parts between which nothing does: those with the same before
  /// their dot are in one part. Sidecars also bear the names of files with their endings, or parts of these;
  /// where there are some, all files are one part.
  private static func parts(of names: [FileName]) -> [[Int]] {
    var keys: [(hash: Int, place: Int32)] = []
    keys.reserveCapacity(names.count)
    for (place, name) in names.enumerated() {
      let role = FileRole(name)
      if role.kind == .sidecar { return [Array(names.indices)] }
      keys.append((role.key.hashValue, Int32(place)))
    }
    keys.sort { ($0.hash, $0.place) < ($1.hash, $1.place) }
    var parts: [[Int]] = [[]]
    var rest = keys[...]
    while let first = rest.first {
      let run = rest.prefix { $0.hash == first.hash }
      rest = rest[run.endIndex...]
      if run.count == 1 { continue }
      if parts[parts.count - 1].count >= partSize { parts.append([]) }
      parts[parts.count - 1] += run.map { Int($0.place) }
    }
    return parts
  }

  private init(roles: [FileRole], identifier: @escaping (Int) -> String?) {
    (self.roles, self.identifier) = (roles, identifier)
  }

  // MARK: Pictures and films

  /// The files of these kinds by what stands before their dot, without the marks of edited twins.
  private func places(of kinds: Set<GroupPart>) -> [[UInt8]: [Int]] {
    let found = roles.indices.filter { kinds.contains(roles[$0].kind) }
    return Dictionary(grouping: found) { roles[$0].key }
  }

  /// A raw picture leads the other pictures of its name. Pictures of one name without a raw one are several:
  /// nobody knows whether they show the same.
  private mutating func place(_ pictures: [[UInt8]: [Int]]) {
    for (_, places) in pictures {
      let originals = places.filter { !roles[$0].isEdited }
      let leading = originals.filter { roles[$0].kind == .rawPicture }
      if let raw = leading.first {
        lead(raw)
        for place in originals where place != raw { follow(place, raw) }
      } else {
        for place in originals { lead(place) }
      }
      for place in places where roles[place].isEdited { placeTwin(place, originals, leading) }
    }
  }

  /// An edited twin without its original stands for itself.
  private mutating func placeTwin(_ place: Int, _ originals: [Int], _ leading: [Int]) {
    let sameEnding = originals.first { ending(of: $0) == ending(of: place) }
    if let original = leading.first ?? sameEnding ?? originals.first {
      follow(place, original)
    } else {
      lead(place)
    }
  }

  /// A film belongs to the photo of its name, unless both say that they belong to others.
  private mutating func placeFilms(beside pictures: [[UInt8]: [Int]]) {
    for (key, films) in places(of: [.film]) {
      let stills = pictures[key] ?? []
      let originals = films.filter { !roles[$0].isEdited }
      for film in originals + films.filter({ roles[$0].isEdited }) {
        let isTwin = roles[film].isEdited
        if let still = still(of: film, stills.filter { roles[$0].isEdited == isTwin })
          ?? (isTwin ? still(of: film, stills) ?? originals.first : nil)
        {
          follow(film, still)
        } else {
          lead(film)
        }
      }
    }
  }

  /// The photo among those of a film's name that it belongs to.
  private func still(of film: Int, _ stills: [Int]) -> Int? {
    if stills.isEmpty { return nil }
    guard let own = identifier(film) else { return preferred(stills) }
    let others = stills.map { ($0, identifier($0)) }
    if let same = others.first(where: { $0.1 == own }) { return same.0 }
    return preferred(others.filter { $0.1 == nil }.map(\.0))
  }

  /// Among several photos of one name, the one that a phone would have made with a film.
  private func preferred(_ stills: [Int]) -> Int? {
    let first = stills.first { ["heic", "heif"].contains(ending(of: $0)) }
    return first ?? stills.first { ["jpg", "jpeg"].contains(ending(of: $0)) } ?? stills.first
  }

  private func ending(of place: Int) -> String {
    let role = roles[place]
    return String(decoding: role.name.bytes.dropFirst(role.stemLength + 1), as: UTF8.self)
      .lowercased()
  }

  // MARK: Sidecars

  private mutating func placeSidecars() {
    guard roles.contains(where: { $0.kind == .sidecar }) else {
      for place in roles.indices where leaderOf[place] == nil { lead(place) }
      return
    }
    let media = roles.indices.filter { leaderOf[$0] != nil }
    let byName = NamedMedia(
      Dictionary(
        media.map { (roles[$0].name.bytes, $0) }, uniquingKeysWith: { first, _ in first }))
    let byStem = Dictionary(grouping: media) { roles[$0].key }
    for place in roles.indices where leaderOf[place] == nil {
      let role = roles[place]
      if role.kind != .sidecar {
        lead(place)
      } else if let (file, suffix) = SidecarName.file(of: role.name, in: byName) {
        follow(place, file, suffix: suffix)
      } else if let file = byStem[role.key].flatMap({ described($0, by: place) }) {
        follow(place, file)
      } else {
        lead(place)
      }
    }
  }

  /// Among the files of one name, the one that a sidecar describes.
  private func described(_ files: [Int], by sidecar: Int) -> Int? {
    let ofFilms: Set = ["thm", "lrv", "lrf", "srt"]
    let films = files.filter { roles[$0].kind == .film }
    if ofFilms.contains(ending(of: sidecar)), let film = films.first { return film }
    let stills = files.filter { roles[$0].kind != .film && !roles[$0].isEdited }
    return stills.first { roles[$0].kind == .rawPicture } ?? preferred(stills) ?? films.first
      ?? files.first
  }

  // MARK: Groups

  private mutating func lead(_ place: Int) {
    leaders.append(place)
    leaderOf[place] = place
  }

  private mutating func follow(_ place: Int, _ other: Int, suffix: [UInt8]? = nil) {
    let leader = leaderOf[other] ?? other
    leaderOf[place] = leader
    let name = suffix.map { MemberName(roles[place].name, behind: member(other), suffix: $0) }
    followers[leader, default: []].append(
      PhotoGroup.Member(place: place, name: name ?? member(place), part: part(place)))
  }

  /// An edited twin without its original is what it looks like.
  private func part(_ place: Int) -> GroupPart {
    let role = roles[place]
    if role.isEdited, leaderOf[place] != place, role.kind != .sidecar { return .edited }
    return role.kind
  }

  private func member(_ place: Int) -> MemberName {
    MemberName(roles[place].name, stem: roles[place].stemLength, mark: roles[place].mark)
  }

  private func groups() -> [PhotoGroup] {
    let found = leaders.map { leader -> PhotoGroup in
      let others = (followers[leader] ?? []).sorted { order($0) < order($1) }
      let name = others.isEmpty ? MemberName(roles[leader].name) : member(leader)
      let first = PhotoGroup.Member(place: leader, name: name, part: part(leader))
      return PhotoGroup(members: [first] + others)
    }
    return found.sorted { first($0) < first($1) }
  }

  private func first(_ group: PhotoGroup) -> Int { group.members.lazy.map(\.place).min() ?? 0 }

  /// Pictures, then films, then edited twins, then sidecars.
  private func order(_ member: PhotoGroup.Member) -> (Int, Int) {
    let role = roles[member.place]
    let rank =
      switch role.kind {
      case .rawPicture, .picture: role.isEdited ? 2 : 0
      case .film: role.isEdited ? 2 : 1
      case .edited: 2
      case .sidecar, .other: 3
      }
    return (rank, member.place)
  }
}
