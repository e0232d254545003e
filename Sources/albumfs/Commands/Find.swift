import AlbumModel
import ArgumentParser
import ControlProtocol
import Posix

struct Find: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Find photos by words, dates, cameras, tags and kinds.",
    discussion: """
      Prints the path of each photo in which all words are found, and of what belongs to it. albumfs looks \
      in its name, the names of its albums, its caption, tags, people, camera or lens. Each word may also name a \
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
