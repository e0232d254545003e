import AlbumModel
import PhotoGroups

/// Which files of an album belong together, as `PhotoGroups` has it: the gallery shows each group as one
/// photo.
///
/// Files of the album itself and of its Photo are in two folders, so no group has files of both.
struct FileGroups: Sendable, Equatable {
  /// A group of several files, by their places in the album. The photo comes first.
  struct Group: Sendable, Equatable {
    let members: [Member]
    let isLive: Bool
    let isRawAndPicture: Bool
    let isEdited: Bool
  }

  struct Member: Sendable, Equatable {
    private let number: UInt32
    let part: GroupPart

    var place: Int { Int(number) }

    init(place: Int, part: GroupPart) { (number, self.part) = (UInt32(place), part) }
  }

  /// The place of the file that leads each file's group.
  private let leaders: [UInt32]
  /// The groups of several files by the place of their leader.
  private let several: [UInt32: Group]
  /// - Parameter tie: what ties the film at a place to its photo; `unread` and `none` tie it by the name
  ///   alone.
  init(_ names: [FileName], isDirect: [Bool], tie: (Int) -> LiveTie) {
    var leaders = names.indices.map { UInt32($0) }
    var several: [UInt32: Group] = [:]
    for folder in [false, true] {
      let places = names.indices.filter { isDirect[$0] == folder }
      let groups = PhotoGrouping.several(of: places.map { names[$0] }) {
        tie(places[$0]).identifier
      }
      for group in groups {
        let first = UInt32(places[group.members[0].place])
        for member in group.members { leaders[places[member.place]] = first }
        several[first] = Group(group, places)
      }
    }
    (self.leaders, self.several) = (leaders, several)
  }

  /// The place of the file that leads the group of a file: the photo itself, if nothing belongs to it.
  func leader(of place: Int) -> Int { Int(leaders[place]) }

  /// The group of a file that belongs to others; nil for one that is alone.
  func group(of place: Int) -> Group? { several[leaders[place]] }

  /// All groups of several files, in no order.
  var all: some Collection<Group> { several.values }

  /// Calls `body` with the file that shows each group, in the order of the leaders: the first one that is not
  /// hidden.
  func eachShown(_ isHidden: (Int) -> Bool, _ body: (Int) -> Void) {
    for place in leaders.indices where Int(leaders[place]) == place {
      if !isHidden(place) {
        body(place)
      } else if let next = several[UInt32(place)]?.members.first(where: { !isHidden($0.place) }) {
        body(next.place)
      }
    }
  }
}

extension FileGroups.Group {
  fileprivate init(_ group: PhotoGroup, _ places: [Int]) {
    members = group.members.map { FileGroups.Member(place: places[$0.place], part: $0.part) }
    (isLive, isRawAndPicture, isEdited) = (group.isLive, group.isRawAndPicture, group.isEdited)
  }
}

/// What a file says of the film of its moment: a digest of the identifier that Apple writes into the photo
/// and the film of a Live Photo, or that a motion photo has the film inside it.
struct LiveTie: Sendable, Equatable {
  private let value: UInt64

  static let unread = LiveTie(value: 0)
  /// The file says nothing.
  static let none = LiveTie(value: 1)

  /// The film is inside the photo.
  static let holdsFilm = LiveTie(value: 2)

  private init(value: UInt64) { self.value = value }

  init(_ identifier: String?) {
    guard let identifier else {
      self = .none
      return
    }
    var hasher = Hasher()
    hasher.combine(identifier)
    value = UInt64(bitPattern: Int64(hasher.finalize())) | 4
  }

  var identifier: String? { value > 2 ? String(value, radix: 16) : nil }
}
