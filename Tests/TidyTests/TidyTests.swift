import Foundation
import Testing

// The repository's own rules, checked where every change passes: what may import what, where a C
// library may be called, what stays out. A rule that is only written is not a rule.

struct TidyTests {
  let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private func swiftFiles(_ folder: String) -> [(path: String, text: String)] {
    SwiftFiles.sources.filter { $0.path.hasPrefix(folder + "/") }
  }

  private func imports(_ text: String) -> Set<String> {
    var found: Set<String> = []
    for line in text.utf8.split(separator: 10) where line.firstRange(of: "import ".utf8) != nil {
      var words = line.split(separator: 32).map { String(Substring($0)) }
      words.removeAll { $0 == "@testable" || $0 == "@preconcurrency" }
      guard let place = words.firstIndex(of: "import"), place <= 1, words.count > place + 1 else {
        continue
      }
      let modifiers = ["package", "internal", "public", "private", "fileprivate"]
      if place == 1, !modifiers.contains(words[0]) { continue }
      let kinds = ["struct", "class", "enum", "protocol", "typealias", "func", "var", "let"]
      let module = kinds.contains(words[place + 1]) ? words[place + 2] : words[place + 1]
      found.insert(String(module.prefix { $0 != "." }))
    }
    return found
  }

  /// The products of the trait Gallery, which only the gallery has.
  private let webModules: Set = [
    "Hummingbird", "HummingbirdCore", "HTTPTypes", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL",
    "NIOTLS",
    "NIOHTTP2", "NIOHTTPTypes", "NIOHTTPTypesHTTP2",
  ]

  /// The imports that Package.swift permits each target.
  private func declaredDependencies() throws -> [String: Set<String>] {
    let manifest = try String(
      contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
    let text = manifest[manifest.range(of: "targets: [\n    // C libraries")!.lowerBound...]
    let call = /[^c](?:library|program|tests)\(\s*"([^"]+)"(?:,\s*\[([^\]]*)\])?/
    var found: [String: Set<String>] = [:]
    for match in text.matches(of: call) {
      var names = Set((match.2 ?? "").matches(of: /"([^"]+)"/).map { String($0.1) })
      if match.2?.contains("logging") ?? false { names.insert("Logging") }
      if match.2?.contains("arguments") ?? false { names.insert("ArgumentParser") }
      if match.2?.contains("hummingbird") ?? false { names.formUnion(webModules) }
      found[String(match.1)] = names
    }
    return found
  }

  @Test func everyImportIsADeclaredDependency() throws {
    let declared = try declaredDependencies()
    let system: Set = [
      "Glibc", "Synchronization", "Foundation", "FoundationEssentials", "Testing",
    ]
    #expect(declared.count > 15)
    for (target, allowed) in declared where !target.hasSuffix("Tests") {
      let files = swiftFiles("Sources/\(target)")
      #expect(!files.isEmpty, "\(target) has no sources")
      for file in files {
        let strangers = imports(file.text).subtracting(allowed).subtracting(system)
        #expect(strangers.isEmpty, "\(file.path) imports \(strangers) without declaring it")
      }
    }
  }

  @Test func foundationStaysAboveTheCore() throws {
    let free = [
      "AlbumModel", "Posix", "AlbumFormat", "AlbumSecrets", "AlbumStore", "AlbumFileSystem",
      "ThumbnailProtocol", "ThumbnailCell", "Thumbnails", "PictureDecoders", "VideoPosters",
      "albumfs-thumbnailer", "albumfs-video-thumbnailer", "FUSEDriver", "Traces",
      "PictureMetadata", "PhotoGroups", "PhotoSearch", "PhotoDuplicates", "UnicodeForms",
      "FileKinds",
      "Inflating", "SecurityKeyProtocol",
      "albumfs-fido2",
      "Fetching", "albumfs-fetch", "NetworkCell", "ObjectStores", "albumfs-remote",
      "SystemCallFilter",
    ]
    for target in free {
      for file in swiftFiles("Sources/\(target)") {
        #expect(!imports(file.text).contains("Foundation"), "\(file.path) imports Foundation")
      }
    }
  }

  @Test func eachCLibraryIsCalledBehindItsFenceOnly() {
    let fences = [
      "CSodium": "Sources/AlbumSecrets/Sodium.swift",
      "CUtf8proc": "Sources/UnicodeForms/UnicodeForms.swift",
      "CZxcvbn": "Sources/AlbumSecrets/PasswordStrength.swift",
      "CZlib": "Sources/Inflating/Inflation.swift",
      "CVips": "Sources/albumfs-thumbnailer/Vips.swift",
      "CFuse3": "Sources/FUSEDriver/Fuse/ Sources/FUSEDriver/Trampolines/",
      "CUring": "Sources/FUSEDriver/Fuse/Ring.swift",
      "CSeccomp": "Sources/SystemCallFilter/SystemCallFilter.swift",
      "CLibAV": "Sources/VideoPosters/LibAV.swift",
      "CFido2": "Sources/albumfs-fido2/SecurityKey.swift",
      "CCurl": "Sources/NetworkCell/WebTransfer.swift",
      "CQRencode": "Sources/Gallery/Listening/QRCode.swift",
      "CArchive": "Sources/Gallery/Download/ZipArchive.swift",
      "CCrypto": "Sources/Gallery/HTTP/SHA256.swift",
      "CGalleryPages": "Sources/Gallery/HTTP/PageFiles.swift",
    ]
    for file in swiftFiles("Sources") {
      for library in imports(file.text) {
        guard let fence = fences[library] else { continue }
        let isInside = fence.split(separator: " ").contains { file.path.hasPrefix($0) }
        #expect(isInside, "\(file.path) imports \(library)")
      }
    }
  }

  /// A file that has unsafe code and is not here fails, and so does one that is here and has none.
  @Test func unsafeCodeStaysInItsRooms() {
    // Rooms whose work it is: system calls; keys in guarded memory and libsodium; libfuse's callbacks and
    // buffers; the decoder, which has no keys and calls libvips and the kernel's confinement; the program
    // that calls libfido2.
    let rooms = [
      "Sources/Posix/", "Sources/AlbumSecrets/", "Sources/FUSEDriver/Fuse/",
      "Sources/FUSEDriver/Trampolines/", "Sources/ThumbnailCell/", "Sources/albumfs-thumbnailer/",
      "Sources/albumfs-video-thumbnailer/",
      "Sources/albumfs-fido2/", "Sources/albumfs-fetch/", "Sources/NetworkCell/",
      "Sources/albumfs-remote/",
    ]
    let files: [(room: String, names: [String])] = [
      // A literal of the compiler, and cursors over bytes that are checked here and nowhere else.
      ("AlbumModel/", ["FileName"]),
      ("AlbumFormat/", ["Bytes", "DataRecord", "KeySlot", "SegmentChecksum", "TrustedLines"]),
      // Content is sealed and decrypted in the buffer that it came in: each of these hands one on.
      (
        "AlbumStore/",
        [
          "Compaction/Mover", "Durability/RecordWriter",
          "Segments/SegmentInspection",
          "Journal/JournalScan", "Segments/Chaff", "Segments/ContentStore",
          "Segments/EndedSegment", "Segments/RecordReading", "Segments/SegmentImage",
          "Segments/SegmentWriter",
          "Segments/ShortFiles", "Segments/TailPreparation", "Segments/UnwrittenCells",
          "Journal/Fence", "SalvagedSpace", "SpaceContent",
        ]
      ),
      // The buffers that utf8proc reads and writes.
      ("UnicodeForms/", ["UnicodeForms"]),
      // The buffer that zlib reads from.
      ("Inflating/", ["Inflation"]),
      // Millions of names and inodes lie in flat memory without a header each.
      ("AlbumStore/", ["Catalog/EntryTable", "Catalog/FlatArena"]),
      // Buffers of open files, which are wiped.
      (
        "AlbumFileSystem/",
        [
          "Albums/ThumbnailWork", "Content/ChunkBuffer", "Content/ContentReading",
          "Content/DirtyChunks", "Content/FileContent", "Content/Joining", "Content/VersionKeeping",
          "OpenFile",
        ]
      ),
      // Pictures on their way to the decoder, and its socket.
      ("FileKinds/", ["ImageKind"]),
      ("ThumbnailProtocol/", ["ThumbnailInspection"]),
      ("PictureDecoders/", ["Canvas"]),
      ("ObjectStores/", ["Reading/ObjectDirectory", "Staging/StagedFile"]),
      ("SystemCallFilter/", ["SystemCallFilter"]),
      ("VideoPosters/", ["LibAV"]),
      ("Thumbnails/", ["Attempt", "LongAttempts", "PictureBuffer", "Worker", "WorkerThread"]),
      // System calls that only one place makes.
      ("FUSEDriver/", ["CallingSyscall", "Mounting"]),
      (
        "ControlProtocol/",
        ["ControlPlaces", "ControlServer", "ControlSocket", "MessageStream", "MountLife"]
      ),
      (
        "Daemon/",
        [
          "AlbumDaemon", "DaemonLog", "LaunchChannel", "Previews", "SignalWatch", "ThumbnailSource",
          "TracedSource",
        ]
      ),
      // libarchive, libcrypto, the page's files, libqrencode, and a handle of Swift's executors.
      (
        "Gallery/",
        [
          "Download/ZipArchive", "HTTP/PageFiles", "Listening/LoopExecutor", "Listening/QRCode",
          "SHA256",
        ]
      ),
      (
        "albumfs/",
        [
          "Interruption", "KilledDaemon", "PasswordInput", "ProcessSetup", "SecurityKeyInput",
          "Terminal",
        ]
      ),
    ]
    let allowed = Set(
      files.flatMap { part in part.names.map { "Sources/\(part.room)\($0).swift" } })
    var found: Set<String> = []
    for file in swiftFiles("Sources") where !rooms.contains(where: file.path.hasPrefix) {
      let named = file.text.split(separator: "\n").filter {
        $0.utf8.firstRange(of: "unsafe".utf8) != nil
          || $0.utf8.firstRange(of: "Unmanaged".utf8) != nil
      }
      let code = named.filter { !$0.contains(/^ *\/\//) }
      if code.contains(where: { $0.contains(/\bunsafe\b|@unsafe\b|\bUnmanaged\b|unsafeBitCast/) }) {
        found.insert(file.path)
      }
    }
    #expect(found.subtracting(allowed).sorted() == [], "unsafe code in files that need none")
    #expect(allowed.subtracting(found).sorted() == [], "no unsafe code here any more")
  }

  /// Names may hold what a terminal would obey. `Terminal` escapes all that the command line prints, and
  /// `DaemonLog` what the daemon says.
  @Test func onlyTheTerminalAndTheLogPrint() {
    // A signal handler repeats a question of `Terminal`.
    let doors = [
      "albumfs/Terminal/Terminal", "albumfs/Terminal/Interruption", "Daemon/Launch/DaemonLog",
    ]
    .map { "Sources/\($0).swift" }
    for target in ["albumfs", "Daemon", "ControlProtocol"] {
      for file in swiftFiles("Sources/\(target)") where !doors.contains(file.path) {
        let calls = file.text.matches(
          of:
            /\b(?:print|debugPrint|puts|perror)\(|\b(?:fputs|write)\(\s*STD(?:OUT|ERR)_FILENO/
        )
        #expect(calls.isEmpty, "\(file.path) prints past Terminal")
      }
    }
    let terminal = swiftFiles("Sources/albumfs").first { $0.path == doors[0] }?.text ?? ""
    for name in ["result", "message", "prompt", "transient"] {
      let body =
        terminal.split(separator: "static func \(name)(_ text: String)").dropFirst().first ?? ""
      #expect(body.prefix(120).contains(".printable"), "Terminal.\(name) prints raw text")
    }
  }

  @Test func everyUncheckedSendableSaysWhy() {
    for file in swiftFiles("Sources") {
      let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
      for (place, line) in lines.enumerated() where line.contains("@unchecked Sendable") {
        let near = lines[max(0, place - 3)...min(lines.count - 1, place + 2)].joined()
        #expect(near.contains("//"), "\(file.path):\(place + 1) gives no reason")
      }
    }
  }

  @Test func everyLockHasARankOfTheTable() throws {
    let table = try String(
      contentsOf: root.appendingPathComponent("Sources/Posix/LockRank.swift"), encoding: .utf8)
    let ranks = table.matches(of: /\n  case (\w+)/).map { String($0.1) }
    #expect(ranks.count > 10)
    // The table for people has the ranks in the order of the enum.
    let rows = table.matches(of: /\n\/\/ \| (\w+) +\|/).map { String($0.1) }
    #expect(rows == ["rank"] + ranks)
    var used: Set<String> = []
    for file in swiftFiles("Sources") {
      // The kinds of locks themselves.
      if ["Monitor.swift", "Mutex.swift"].contains(file.path.split(separator: "/").last) {
        continue
      }
      #expect(!file.text.contains("pthread_mutex"), "\(file.path) has a lock of its own kind")
      let made = file.text.matches(of: /\b(?:Mutex|Monitor)(?:<[^=\n]*>)?\(/)
      let ranked = file.text.matches(of: /\b(?:Mutex|Monitor)(?:<[^=\n]*>)?\(.*\brank: \.(\w+)\)/)
      #expect(made.count == ranked.count, "\(file.path) makes a lock without a rank")
      for rank in ranked { used.insert(String(rank.1)) }
      for rank in file.text.matches(of: /LockRank\.(\w+)\.holding/) { used.insert(String(rank.1)) }
    }
    #expect(used.symmetricDifference(ranks) == ["test"])
  }

  @Test func theWalksOfTheDesignNameFilesThatExist() throws {
    let design = try String(
      contentsOf: root.appendingPathComponent("Sources/albumfs/Documentation.docc/Design.md"),
      encoding: .utf8)
    let walks = try #require(design.split(separator: "\n## ").first { $0.hasPrefix("The walks") })
    let named = walks.matches(of: /`([\w\-]+(?:\/[\w\-]+)+)`/).map { String($0.1) }
    #expect(named.count > 40)
    let sources = Set(swiftFiles("Sources").map(\.path))
    for name in named { #expect(sources.contains("Sources/\(name).swift"), "\(name)") }
  }

  /// The walk of a read says how much room a buffer has before it, and how much of that a header takes.
  @Test func theRoomBeforeABufferIsThatOfTheDesign() throws {
    func text(_ path: String) throws -> String {
      try String(contentsOf: root.appendingPathComponent("Sources/\(path)"), encoding: .utf8)
    }
    let room = try text("AlbumModel/Sizes.swift").firstMatch(of: /static let byteCount = (\d+)/)
    let header = try text("AlbumFormat/DataRecord.swift")
      .firstMatch(of: /static let headerByteCount = (\d+)/)
    let design = try text("albumfs/Documentation.docc/Design.md").split(
      whereSeparator: \.isWhitespace
    )
    .joined(separator: " ")
    #expect(design.contains("Its header of \(try #require(header).1) bytes"))
    #expect(design.contains("the \(try #require(room).1) bytes of room"))
  }

  /// The picture shows every target on a floor above all that it imports, and the C libraries that it alone
  /// calls.
  @Test func theLayersOfTheDesignAreThoseOfTheManifest() throws {
    let design = try String(
      contentsOf: root.appendingPathComponent("Sources/albumfs/Documentation.docc/Design.md"),
      encoding: .utf8)
    let layers = try #require(design.split(separator: "\n## ").first { $0.hasPrefix("The layers") })
    let picture = try #require(layers.split(separator: "```").dropFirst().first)
    var floors: [String: Int] = [:]
    var libraries: [String: Set<String>] = [:]
    var floor = Int.max
    for line in picture.split(separator: "\n") {
      let cells = line.split(separator: /\ {2,}/)
      for cell in cells {
        if let number = Int(cell) {
          floor = number
          continue
        }
        let parts = cell.split(separator: " ─ ")
        let target = String(parts[0])
        #expect(floors.updateValue(floor, forKey: target) == nil, "\(target) is there twice")
        let named = parts.dropFirst().flatMap { $0.split(separator: /[, ]+/) }
        libraries[target] = Set(named.map(String.init)).filter {
          $0.wholeMatch(of: /C[A-Z]\w+/) != nil
        }
      }
    }
    let declared = try declaredDependencies().filter { !$0.key.hasSuffix("Tests") }
    let shown = Set(floors.keys).subtracting(["CLinux"])
    #expect(shown == Set(declared.keys), "\(shown.symmetricDifference(declared.keys))")
    for (target, dependencies) in declared {
      let own = try #require(floors[target])
      for dependency in dependencies {
        if let below = floors[dependency] { #expect(below < own, "\(target) over \(dependency)") }
      }
      let called = dependencies.filter { $0.wholeMatch(of: /C[A-Z]\w+/) != nil }
      #expect(called.subtracting(["CLinux"]) == libraries[target], "\(target) calls \(called)")
    }
  }

  @Test func nothingIsLeftOpenOrLong() {
    for file in swiftFiles("Sources") {
      for word in ["TO" + "DO", "FIX" + "ME", "not implemented", "/" + "work/"] {
        #expect(!file.text.contains(word), "\(file.path) says \(word)")
      }
      let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count <= 500, "\(file.path) has \(lines.count) lines")
      #expect(
        lines.allSatisfy { $0.count <= 110 || $0.contains("\"") || $0.contains("| ") },
        "\(file.path) has long lines")
    }
  }

  @Test func theTopLevelIsAsAgreed() throws {
    let agreed: Set = [
      "Package.swift", "Sources", "Tests", "scripts", "README.md", "LICENSE", "CHANGELOG.md",
      "Package.resolved",
    ]
    let found = try FileManager.default.contentsOfDirectory(atPath: root.path)
    #expect(Set(found.filter { !$0.hasPrefix(".") }).isSubset(of: agreed))
  }

  @Test func theThumbnailerLinksNoFoundationAndNoKeys() throws {
    let running = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let program = running.deletingLastPathComponent().appendingPathComponent("albumfs-thumbnailer")
    let bytes = try Data(contentsOf: program)
    for library in ["libFoundation", "libsodium", "libfuse3"] {
      #expect(bytes.range(of: Data(library.utf8)) == nil, "the thumbnailer links \(library)")
    }
  }

  /// A file system reports what it likes, and an initializer or a product of such a number traps.
  @Test func numbersOfTheKernelAreConvertedInOneRoom() {
    let rooms = [
      "Sources/Posix/ReportedNumbers.swift", "Sources/FUSEDriver/Trampolines/Conversions.swift",
    ]
    let number =
      #"\b(st_(size|blocks|blksize|nlink|[amc]tim)|f_[a-z]+|tv_(sec|nsec|usec)|ru_[a-z]+)\b"#
    let conversion = try! Regex(
      #"\b(U?Int(8|16|32|64)?|CInt|off_t|time_t|Double)\((?!clamping|exactly|truncating|bitPattern)[^)]*"#
        + number
    ).wordBoundaryKind(.simple)
    let sum = try! Regex(#"\.?"# + number + #"(\.tv_\w+)? *[-+*] |[^&][-+*] \w+\."# + number)
      .wordBoundaryKind(.simple)
    for file in swiftFiles("Sources") {
      let isRoom = rooms.contains(file.path)
      for line in file.text.split(separator: "\n") where !line.contains("///") {
        #expect(
          line.firstMatch(of: conversion) == nil, "\(file.path): \(line) may trap; clamp it")
        #expect(isRoom || line.firstMatch(of: sum) == nil, "\(file.path): \(line) may trap")
      }
    }
    #expect("Int64(status.f_bavail) * unit".firstMatch(of: conversion) != nil)
    #expect("usage.ru_utime.tv_sec + 1".firstMatch(of: sum) != nil)
  }
}
