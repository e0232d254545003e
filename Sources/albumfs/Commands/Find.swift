import AlbumModel
import ArgumentParser
import ControlProtocol
import Posix

struct Find: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Find photos by words, dates, cameras, tags and kinds.",
    discussion: """
      Prints the path of each photo in which all words are found, and of what belongs to it. Words are found \
      in its name, the names of its albums, its caption, tags, people, camera or lens. Words may also name a \
      date (2019, 2019-06, 2018..2020, june 5), \
      a kind (video, raw, panorama, live, screenshot, favourite), a town near which it was taken (paris) or \
      a rating (rating:4: four stars or more). '"two words"' stand together, -word must not be found, and camera:canon looks in one field.

        albumfs find ~/Album june 2019 beach
        albumfs find ~/Album favourite -video -0 | xargs -0 cp -t ~/Selection
      """)

  @Argument(help: "A mount point, or an album in it.", completion: Completions.mounts)
  var place: String

  @Argument(help: "What to look for.")
  var words: [String]

  @Flag(name: [.customShort("0"), .customLong("null")], help: "End each path with a zero byte.")
  var isSeparatedByZeros = false

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  /// Arguments with the options first, and all words behind `--`. The parser would take `-video` for five
  /// options of one letter.
  static func arranged(_ arguments: [String]) -> [String] {
    let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
    var options = [arguments[0]]
    var words: [String] = []
    for argument in arguments[1..<end] {
      let isOption = argument.hasPrefix("--") || argument.hasPrefix("-") && argument.count == 2
      if isOption { options.append(argument) } else { words.append(argument) }
    }
    return options + ["--"] + words + arguments[end...].dropFirst()
  }

  func validate() throws {
    if json && isSeparatedByZeros { throw ValidationError("--json and -0 exclude each other.") }
  }

  func run() throws {
    guard let finder = PhotoFinder(words.joined(separator: " ")) else {
      throw Failure(.usage, "These words ask for nothing.")
    }
    let found = try finder.photos(in: place)
    if json { return Terminal.result(json: FoundPhotoList(photos: found)) }
    for photo in found {
      for file in photo.files { Terminal.result(path: file, endsWithZero: isSeparatedByZeros) }
    }
    if found.isEmpty { output.say("Nothing is found.") }
  }
}

/// The output of `find --json`.
struct FoundPhotoList: Encodable {
  var version = 1
  var photos: [FoundPhoto]
}

struct FoundPhoto: Encodable {
  /// As their bytes are, for programs. The photo comes first, and then what belongs to it.
  let files: [PlainPath]
  var path: String
  /// The paths of what belongs to it.
  var others: [String]?
  /// From the root of the space.
  var album: String
  var taken: String?
  var width: Int?
  var height: Int?
  /// Of a video, in seconds.
  var duration: Double?
  var camera: String?
  var lens: String?
  var caption: String?
  var favourite: Bool?
  var rating: Int?
  var tags: [String]?
  var people: [String]?
  var place: String?
  /// The nearest town.
  var near: String?

  enum CodingKeys: CodingKey {
    case path, others, album, taken, width, height, duration, camera, lens, caption, favourite,
      rating, tags
    case people, place, near
  }

  init(_ files: [PlainPath], album: [FileName], _ facts: KnownFacts) {
    self.files = files
    path = files[0].text
    others = files.count > 1 ? files.dropFirst().map(\.text) : nil
    self.album = album.map(\.text).joined(separator: "/")
    taken = facts.taken?.text
    width = facts.dimensions?.width
    height = facts.dimensions?.height
    duration = facts.duration.map { Double($0.milliseconds) / 1000 }
    (camera, lens, caption) = (facts.camera, facts.lens, facts.caption)
    favourite = facts.isFavourite ? true : nil
    rating = facts.rating
    tags = facts.tags.isEmpty ? nil : facts.tags
    people = facts.people.isEmpty ? nil : facts.people
    place = facts.place?.text
    near = Places.name(near: facts.place)
  }
}
