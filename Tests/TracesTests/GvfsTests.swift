import AlbumTestSupport
import Foundation
import Posix
import Testing
import Traces

/// albumfs reads the metadata of gvfs from files that the real daemon wrote, and only the daemon removes
/// entries.
@Suite struct GvfsTests {
  let home: TraceHome
  private let tree = TracedTree(["/home/ann/Album"])!
  private let folder = ".local/share/gvfs-metadata"
  init() throws { home = try TraceHome() }

  /// Records its requests, and may carry them out.
  private final class Daemon: GvfsRemover {
    let calls = Mutex<[String]>([], rank: .test)
    let outcome: GvfsOutcome
    let work: @Sendable () -> Void
    init(_ outcome: GvfsOutcome, _ work: @escaping @Sendable () -> Void = {}) {
      self.outcome = outcome
      self.work = work
    }
    func remove(_ path: [UInt8], from tree: String) -> GvfsOutcome {
      calls.withLock { $0.append(String(decoding: path, as: UTF8.self) + " " + tree) }
      work()
      return outcome
    }
  }

  private func search(_ daemon: any GvfsRemover, cleaning: Bool = true) -> TraceSearch {
    TraceSearch.run(tree, in: home.places, cleaning: cleaning, gvfs: daemon)
  }

  private func paths(_ search: TraceSearch) -> [String] {
    search.traces.map { String(decoding: $0.path ?? [], as: UTF8.self) }.sorted()
  }

  private func write(_ name: String, _ base64: String) throws {
    try home.write("\(folder)/\(name)", Array(try #require(Data(base64Encoded: base64))))
  }

  @Test func namesInATreeAreFound() throws {
    try write("root", GvfsSamples.tree)
    let search = search(NoGvfs(), cleaning: false)
    #expect(paths(search) == ["", "Trip", "Trip/Photo", "Trip/Photo/a b.jpg"])
    #expect(search.traces.allSatisfy { $0.kind == .metadata && $0.state == .found })
  }

  @Test func namesInAJournalAreFoundAlsoAfterTheirRemoval() throws {
    try write("root", GvfsSamples.emptyTree)
    try write("root-c83814da.log", GvfsSamples.journal)
    #expect(paths(search(NoGvfs(), cleaning: false)) == ["c.jpg", "e.jpg"])
  }

  @Test func theDaemonIsAskedForTheMountPointAlone() throws {
    try write("root", GvfsSamples.tree)
    let root = home.home + "/\(folder)/root"
    let empty = try #require(Data(base64Encoded: GvfsSamples.emptyTree))
    let daemon = Daemon(.removed) { try? empty.write(to: URL(fileURLWithPath: root)) }
    let search = search(daemon)
    #expect(daemon.calls.withLock { $0 } == ["/home/ann/Album \(root)"])
    #expect(search.traces.count == 4 && search.traces.allSatisfy { $0.state == .removed })
  }

  @Test func entriesThatTheDaemonHasNotRemovedYetAreReportedAsLeaving() throws {
    try write("root", GvfsSamples.tree)
    #expect(search(Daemon(.removed)).traces.allSatisfy { $0.state == .leaving })
    let refused = GvfsOutcome.refused("no")
    #expect(search(Daemon(refused)).traces.allSatisfy { $0.state == .stays(.refused("no")) })
    let before = try home.files()
    #expect(search(NoGvfs()).traces.allSatisfy { $0.state == .stays(.needsDaemon) })
    #expect(try home.files() == before)
  }

  /// A crash of gvfs leaves the journal of a tree that it replaced.
  @Test func aJournalOfNoTreeIsNamedAndStays() throws {
    try write("root", GvfsSamples.tree)
    try write("root-c83814da.log", GvfsSamples.journal)
    let states = Set(
      search(Daemon(.removed)).traces.filter { $0.file.hasSuffix(".log") }.map(\.state))
    #expect(states == [.stays(.abandoned)])
  }

  /// Paths in the tree `home` begin at the home directory.
  @Test func theTreeOfTheHomeDirectoryIsReadRelativeToIt() throws {
    try write("home", GvfsSamples.tree)
    let album = try #require(TracedTree([home.home + "/home/ann/Album"]))
    let daemon = Daemon(.unreachable)
    let search = TraceSearch.run(album, in: home.places, cleaning: true, gvfs: daemon)
    #expect(paths(search) == ["", "Trip", "Trip/Photo", "Trip/Photo/a b.jpg"])
    #expect(daemon.calls.withLock { $0 } == ["/home/ann/Album \(home.home)/\(folder)/home"])
    #expect(self.search(Daemon(.removed)).traces == [])
  }

  /// Each byte of both files takes other values. The reader always ends, and never crashes.
  @Test func damagedFilesAreReadWithoutHarm() throws {
    for (name, base64) in [("root", GvfsSamples.tree), ("root-c83814da.log", GvfsSamples.journal)] {
      let original = Array(try #require(Data(base64Encoded: base64)))
      for place in original.indices {
        for value in [0, 0xFF, original[place] ^ 4] as [UInt8] {
          var damaged = original
          damaged[place] = value
          try home.write("\(folder)/\(name)", damaged)
          _ = search(NoGvfs(), cleaning: false)
        }
      }
      for length in stride(from: 0, to: original.count, by: 3) {
        try home.write("\(folder)/\(name)", Array(original[..<length]))
        _ = search(NoGvfs(), cleaning: false)
      }
      try home.write("\(folder)/\(name)", "no file of gvfs")
      #expect(search(NoGvfs()).unseen.contains { $0.reason == .notUnderstood })
    }
  }
}
