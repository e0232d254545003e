import ArgumentParser
import ControlProtocol
import Glibc
import Posix
import Traces

struct TracesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "traces",
    abstract: "Show or remove what other programs keep about a mount outside of it.",
    discussion: """
      Looks for thumbnails, lists of recently used files, gvfs' metadata, histories of viewers and settings \
      that name files under the mount point, in your home directory. It need not be mounted. With --clean it \
      removes them and touches nothing else. Close the programs that used the mount before: some write \
      their lists again when they end.

      --exclude makes tumbler leave the mount point alone, so that Thunar and Ristretto keep no thumbnails \
      of it; --include takes that back.

        albumfs traces ~/Album
        albumfs traces ~/Album --clean
        albumfs traces ~/Album --exclude
      """)

  @Argument(
    help: "The mount point, or a store that is mounted. \(DefaultMountPoint.help)",
    completion: .directory)
  var path: String?

  @Flag(help: "Remove what it finds.")
  var clean = false

  @Flag(help: "Let tumbler make no thumbnails of it, in ~/.config/tumbler/tumbler.rc.")
  var exclude = false

  @Flag(help: "Take --exclude back.")
  var include = false

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    if exclude, include { throw ValidationError("--exclude and --include are opposites.") }
    if exclude || include, clean || json {
      throw ValidationError("--exclude and --include stand alone.")
    }
  }

  func run() throws {
    let place = try DefaultMountPoint.unless(given: path)
    let target = try TraceTarget(place)
    if exclude || include { return try setExclusion(of: place, target) }
    let search = TraceSearch.run(target.tree, in: try target.places(), cleaning: clean)
    let words = TraceSentences(search, of: target)
    if json {
      Terminal.result(json: words.listing)
    } else {
      for line in words.lines(all: !clean || output.verbose) { Terminal.result(line) }
      for line in words.remarks { output.say(line) }
      output.say(words.summary)
    }
    if let failure = words.failure { throw failure }
  }

  private func setExclusion(of path: String, _ target: TraceTarget) throws(Failure) {
    let tumbler = try TumblerExclusion()
    let paths = target.tree.roots.map { String(decoding: $0, as: UTF8.self) }
    let changed = try exclude ? tumbler.exclude(paths) : tumbler.include(paths)
    let state = exclude ? "leaves \(path) alone" : "may make thumbnails of \(path)"
    guard let changed else { return output.say("tumbler \(state) already.") }
    output.say("tumbler \(state) from its next start on (\(changed)). To end it: pkill tumblerd")
  }
}

/// The mount points whose traces a command looks for. A space may or may not be mounted on them.
struct TraceTarget {
  /// The mount points, in the spelling of the kernel's table.
  let mountPoints: [String]
  let tree: TracedTree

  /// Throws for a store that is not mounted: nothing records where it was.
  init(_ path: String) throws(Failure) {
    let resolved = MountPath.resolve(path)
    let table = try MountPath.table()
    var points = [resolved]
    if table.space(holding: resolved) == nil, PathCalls.exists(resolved + "/albumfs.conf") {
      points = table.spaces.filter { ControlClient.store(of: $0) == resolved }.map(\.mountPoint)
      if points.isEmpty {
        throw Failure(
          .noSuchMount,
          "\(path) is a store, and no space of it is mounted that you may ask. Give the mount point."
        )
      }
    }
    try self.init(mountPoints: points, typed: path)
  }

  init(mountPoint: String) throws(Failure) {
    try self.init(mountPoints: [mountPoint], typed: mountPoint)
  }

  private init(mountPoints: [String], typed: String) throws(Failure) {
    self.mountPoints = mountPoints
    var spellings = mountPoints
    // A program records the path that its user took, which may lead through symbolic links.
    if mountPoints.count == 1, typed.hasPrefix("/") {
      spellings.append(typed)
    } else if mountPoints.count == 1, let work = PathCalls.variable("PWD"), work.hasPrefix("/") {
      spellings.append("\(work)/\(typed)")
    }
    if let home = PathCalls.variable("HOME"), let real = MountPath.realPath(home), real != home {
      spellings += mountPoints.filter { $0.hasPrefix(real + "/") }
        .map { home + $0.dropFirst(real.count) }
    }
    spellings = spellings.filter { mountPoints.contains(MountPath.resolve($0)) }
    guard let tree = TracedTree(spellings) else {
      throw Failure(.usage, "\(typed) contains everything. Give a mount point.")
    }
    if let home = PathCalls.variable("HOME").map(MountPath.resolve),
      mountPoints.contains(where: home.lies)
    {
      throw Failure(.usage, "\(typed) contains your home directory. Give a mount point.")
    }
    self.tree = tree
  }

  /// The places of the caller.
  func places() throws(Failure) -> TracePlaces {
    guard let places = TracePlaces(user: geteuid(), variable: PathCalls.variable) else {
      throw Failure(.other, "Nobody knows where to look: HOME is not set.")
    }
    return places
  }
}
