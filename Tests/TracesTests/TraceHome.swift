import AlbumTestSupport
import Foundation
import Glibc
import Posix
import Traces

/// A home directory with files as programs leave them, and searches in it. The mount point `Album` lies in it,
/// and nothing is mounted there.
final class TraceHome {
  let scratch: ScratchDirectory
  var home: String { scratch.path("home ü") }
  var album: String { home + "/Album" }
  let temporary: String

  init() throws {
    scratch = try ScratchDirectory()
    temporary = scratch.path("tmp")
    for path in [home, temporary] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
  }

  var places: TracePlaces {
    TracePlaces(
      user: geteuid(), home: home, cache: home + "/.cache", data: home + "/.local/share",
      config: home + "/.config", temporary: [temporary])
  }

  var tree: TracedTree { TracedTree([album])! }

  func search(
    cleaning: Bool = false, limits: TraceLimits = .thorough, gvfs: any GvfsRemover = NoGvfs()
  ) -> TraceSearch {
    TraceSearch.run(tree, in: places, cleaning: cleaning, limits: limits, gvfs: gvfs)
  }

  /// Returns the paths in the mount of which a search finds traces, sorted.
  func found(cleaning: Bool = false) -> [String] {
    search(cleaning: cleaning).traces.map { String(decoding: $0.path ?? [], as: UTF8.self) }
      .sorted()
  }

  /// Writes a file below the home directory and returns its path.
  @discardableResult
  func write(_ name: String, _ content: [UInt8]) throws -> String {
    let path = home + "/" + name
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(content).write(to: URL(fileURLWithPath: path))
    return path
  }

  @discardableResult
  func write(_ name: String, _ text: String) throws -> String {
    try write(name, Array(text.utf8))
  }

  func text(_ name: String) throws -> String {
    try String(contentsOfFile: home + "/" + name, encoding: .utf8)
  }

  /// All files below the home directory, with their content.
  func files() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: home) {
      let path = home + "/" + name
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      if attributes[.type] as? FileAttributeType != .typeRegular { continue }
      files[name] = try Data(contentsOf: URL(fileURLWithPath: path))
    }
    return files
  }

  /// The URI of a path below the home directory, as GLib writes it.
  func uri(_ path: String) -> String {
    "file://"
      + (home + "/" + path).addingPercentEncoding(
        withAllowedCharacters: CharacterSet(
          charactersIn:
            "/-_.~!$&'()*+,=:@abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))!
  }
}

/// No daemon of gvfs can be reached.
struct NoGvfs: GvfsRemover {
  func remove(_ path: [UInt8], from tree: String) -> GvfsOutcome { .unreachable }
}

/// Small PNG files with texts. Their checksums are zeros, which no reader of texts checks.
enum PNG {
  static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    number(data.count) + Array(type.utf8) + data + [0, 0, 0, 0]
  }

  static func number(_ value: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
  }

  static func file(_ chunks: [UInt8]...) -> [UInt8] {
    signature + chunk("IHDR", [UInt8](repeating: 1, count: 13)) + chunks.flatMap { $0 }
      + chunk("IEND", [])
  }

  static func text(_ keyword: String, _ value: String) -> [UInt8] {
    chunk("tEXt", Array(keyword.utf8) + [0] + Array(value.utf8))
  }

  static func thumbnail(of uri: String) -> [UInt8] {
    file(text("Thumb::URI", uri), chunk("IDAT", [1, 2, 3]))
  }
}
