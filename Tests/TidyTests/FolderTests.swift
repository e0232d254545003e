import Foundation
import Testing

// The folders of each target point one way: a file uses what its own folder and those below it declare. The
// test derives from the sources which folder declares what, and so needs no list of names.

struct FolderTests {
  /// The folders of each target that has some, the lowest first. "" is the height of files outside of them.
  static let orders = [
    "AlbumFileSystem": ["Requests", "Past", "Albums", "Content", "", "Upkeep"],
    "AlbumStore": [
      "Directory", "Keys", "Segments", "Catalog", "Journal", "Durability", "Recovery", "Compaction",
      "",
    ],
    "Daemon": ["Launch", "Watching", "Sentences", "Thumbnails", "Requests", ""],
    "FUSEDriver": ["Kernel", "Fuse", "Requests", "Trampolines", ""],
    "Gallery": [
      "HTTP", "Index", "Changes", "Uploads", "Download", "Jobs", "Listening", "Spaces",
      "Duplicates", "Sessions", "LocalSend", "Routes", "",
    ],
    "ObjectStores": ["Objects", "S3", "Reading", "Staging", "Copying"],
    "albumfs": [
      "Terminal", "Places", "Remote", "Passwords", "Mounting", "Traces", "Transfer", "Commands", "",
    ],
  ]

  @Test func foldersOfATargetPointOneWay() throws {
    let files = sourceFiles(under: "Sources")
    let sources = Sources(files: files)
    let targets = files.keys.filter { !$0.hasPrefix("C/") && $0.split(separator: "/").count > 2 }
    #expect(Set(targets.map { String($0.prefix { $0 != "/" }) }) == Set(FolderTests.orders.keys))
    for (target, order) in FolderTests.orders {
      #expect(Set(sources.folders(of: target)) == Set(order), "\(target)")
      for fault in sources.upward(in: target, order) { Issue.record("\(target): \(fault)") }
    }
  }

  /// Only the command line says what to type.
  @Test func theCoreNamesNoOptionsOfTheCommandLine() throws {
    for target in ["AlbumFormat", "AlbumSecrets", "AlbumStore", "AlbumFileSystem", "AlbumCheck"] {
      for (path, text) in sourceFiles(under: "Sources/\(target)") {
        for line in text.split(separator: "\n") where !line.contains("///") {
          #expect(!line.contains(/"[^"]*--[a-z]/), "\(path): \(line)")
        }
      }
    }
  }

  /// The first test would notice each kind of use.
  @Test func aUseOfAHigherFolderIsFound() {
    let high = """
      struct Tower { func ring() {} }
      extension Brick { package mutating func glaze() {} }
      """
    let uses = [
      ("let tower: Tower", 1), ("brick.glaze()", 1), ("// Tower", 0), ("let text = \"Tower\"", 0),
      ("let own = TowerBlock()", 0), ("brick.lay()", 0), ("\\.glaze", 1),
    ]
    for (use, count) in uses {
      let low = "struct Brick { func lay() {}\n\(use) }"
      let sources = Sources(files: ["Core/High/Tower.swift": high, "Core/Low/Brick.swift": low])
      let faults = sources.upward(in: "Core", ["Low", "High"])
      #expect(faults.count == count, "\(use): \(faults)")
      #expect(sources.upward(in: "Core", ["High", "Low"]).count == 1)
    }
  }
}

/// The Swift files of the repository, read once for all tests.
enum SwiftFiles {
  static let sources = read("Sources")
  static let tests = read("Tests")

  /// By their path below the repository, sorted.
  private static func read(_ folder: String) -> [(path: String, text: String)] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().path
    let found = FileManager.default.enumerator(atPath: "\(root)/\(folder)")
    let names = found?.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") } ?? []
    return names.sorted().map { name in
      let text = try? String(contentsOfFile: "\(root)/\(folder)/\(name)", encoding: .utf8)
      return ("\(folder)/\(name)", text ?? "")
    }
  }
}

/// The texts of the Swift files in a folder of the repository, by their path below the folder.
func sourceFiles(under folder: String) -> [String: String] {
  let all = folder.hasPrefix("Tests") ? SwiftFiles.tests : SwiftFiles.sources
  let files = all.filter { $0.path.hasPrefix(folder + "/") }
  return Dictionary(
    uniqueKeysWithValues: files.map { (String($0.path.dropFirst(folder.count + 1)), $0.text) })
}

/// Swift files by their path below a root, without comments and string literals.
private struct Sources {
  let files: [String: String]

  init(files: [String: String]) { self.files = files.mapValues(Sources.stripped) }

  private static func stripped(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let code = line.replacing(/"(?:[^"\\]|\\.)*"/, with: "\"\"")
      return code.firstRange(of: "//").map { code[..<$0.lowerBound] } ?? code
    }.joined(separator: "\n")
  }

  /// The folder of a file in a target; nil for files of other targets.
  private static func folder(of path: String, in target: String) -> String? {
    let parts = path.split(separator: "/")
    if parts.count < 2 || parts[0] != target { return nil }
    return parts.count == 2 ? "" : String(parts[1])
  }

  func folders(of target: String) -> [String] {
    files.keys.compactMap { Sources.folder(of: $0, in: target) }
  }

  /// Uses of what a higher folder declares, one line each.
  func upward(in target: String, _ order: [String]) -> [String] {
    let height = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    // The lowest folder that declares each name. Declarations of other targets lie below all folders.
    var types: [String: Int] = [:]
    var members: [String: Int] = [:]
    var extended: [String: Set<String>] = [:]
    for (path, text) in files {
      let place = Sources.folder(of: path, in: target).flatMap { height[$0] } ?? -1
      if place >= 0 {
        for name in Sources.types(text) { types[name] = min(types[name] ?? .max, place) }
        for (type, name) in Sources.extensionMembers(text) {
          extended[name, default: []].insert(type)
        }
      }
      for name in Sources.members(text) { members[name] = min(members[name] ?? .max, place) }
    }
    var faults: [String] = []
    for (path, text) in files.sorted(by: { $0.key < $1.key }) {
      guard let place = Sources.folder(of: path, in: target).flatMap({ height[$0] }) else {
        continue
      }
      for name in Set(text.matches(of: /\b[A-Z]\w+/).map { String($0.output) }) {
        if let other = types[name], other > place {
          faults.append("\(path) names \(name), which \(order[other]) declares")
        }
      }
      for name in Set(text.matches(of: /\.(\w+)/).map { String($0.1) }) {
        // A file that knows none of the types that have it calls something else.
        let isKnown = extended[name]?.contains { types[$0] ?? -1 <= place } ?? false
        if isKnown, let other = members[name], other > place {
          faults.append("\(path) uses .\(name), which \(order[other]) declares")
        }
      }
    }
    return faults
  }

  private static func types(_ text: String) -> Set<String> {
    let declaration = /(?m)^(?:[a-z@()]+ )*(?:struct|class|enum|protocol|actor|typealias) (\w+)/
    return Set(text.matches(of: declaration).map { String($0.1) })
  }

  /// Everything that a dot may lead to.
  private static func members(_ text: String) -> Set<String> {
    var names = Set(text.matches(of: /\b(?:func|var|let) (\w+)/).map { String($0.1) })
    for line in text.matches(of: /\bcase ([^:\n]+)/) {
      names.formUnion(line.1.matches(of: /\w+/).map { String($0.output) })
    }
    return names
  }

  /// The declarations in extensions that other files can use.
  private static func extensionMembers(_ text: String) -> [(type: String, name: String)] {
    var names: [(String, String)] = []
    for body in text.matches(of: /(?ms)^(?:package )?extension (\w+)[^\n]*\{(.*?)^\}/) {
      let declaration = /(?m)^  ((?:[a-z@()]+ )*)(?:func|var) (\w+)/
      for member in body.2.matches(of: declaration) where !member.1.contains("private") {
        names.append((String(body.1), String(member.2)))
      }
    }
    // On one line.
    for body in text.matches(of: /(?m)^(?:package )?extension (\w+)[^\n{]*\{ ([^\n]*) \}$/) {
      for member in body.2.matches(of: /\b(?:func|var) (\w+)/) {
        names.append((String(body.1), String(member.1)))
      }
    }
    return names
  }
}
