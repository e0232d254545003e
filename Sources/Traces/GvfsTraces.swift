import AlbumModel
import Posix

/// Metadata of files that gvfs keeps: ratings, sort orders, places of icons. Files of a FUSE mount are in the
/// tree `root`, by their whole path; those of a mount point without a mount may be in the tree `home`.
extension TraceSearch {
  private static let treeLimit = 64 << 20

  mutating func lookAtGvfsMetadata() {
    let path = "\(places.data)/gvfs-metadata"
    for (tree, base) in [("root", ""), ("home", places.home)] {
      var found = gvfsTraces(tree, base, in: path)
      if found.isEmpty { continue }
      if isCleaning { found = removeGvfsTraces(found, tree, base, in: path) }
      for trace in found { add(trace) }
    }
  }

  /// Finds the traces in a tree and in its journals. `base` is the directory that the tree's paths begin at.
  private mutating func gvfsTraces(_ tree: String, _ base: String, in path: String) -> [Trace] {
    guard let directory = directory(path) else { return [] }
    let name = FileName(known: Array(tree.utf8))
    var traces: [Trace] = []
    var current: UInt32?
    if directory.kind(of: name) != nil,
      let (tag, paths) = read(name, in: directory, at: path, GvfsFormat.tree)
    {
      current = tag
      traces += gvfsTraces(paths, base, in: "\(path)/\(tree)", .found)
    }
    for name in names(in: directory, at: path)
    where name.bytes.starts(with: "\(tree)-".utf8) && name.hasSuffix(".log") {
      guard let (tag, paths) = read(name, in: directory, at: path, GvfsFormat.journal) else {
        continue
      }
      let state = tag == current ? Trace.State.found : .stays(.abandoned)
      traces += gvfsTraces(paths, base, in: "\(path)/\(name.display)", state)
    }
    return traces
  }

  private func gvfsTraces(
    _ paths: [[UInt8]], _ base: String, in file: String, _ state: Trace.State
  ) -> [Trace] {
    var seen: Set<[UInt8]> = []
    return paths.compactMap { path in
      guard let inside = tree.inside(Array(base.utf8) + path), seen.insert(inside).inserted else {
        return nil
      }
      return Trace(kind: .metadata, file: file, path: inside, state: state)
    }
  }

  private mutating func read(
    _ name: FileName, in directory: OwnedDirectory, at path: String,
    _ parse: ([UInt8]) throws(GvfsFormat.NotUnderstood) -> (tag: UInt32, paths: [[UInt8]])
  ) -> (tag: UInt32, paths: [[UInt8]])? {
    let filePath = "\(path)/\(name.display)"
    guard let file = open(name, in: directory, at: path),
      let content = content(file, at: filePath, atMost: TraceSearch.treeLimit)
    else { return nil }
    do throws(GvfsFormat.NotUnderstood) { return try parse(content) } catch {
      passOver(filePath, .notUnderstood)
      return nil
    }
  }

  /// Asks the daemon to remove the roots, and looks again at what is left.
  private mutating func removeGvfsTraces(
    _ found: [Trace], _ treeName: String, _ base: String, in path: String
  ) -> [Trace] {
    var outcome = GvfsOutcome.removed
    for root in tree.roots {
      let base = Array(base.utf8)
      guard root.starts(with: base), root.count > base.count, root[base.count] == UInt8(ascii: "/")
      else { continue }
      outcome = gvfs.remove(Array(root[base.count...]), from: "\(path)/\(treeName)")
      if outcome != .removed { break }
    }
    let left = gvfsTraces(treeName, base, in: path)
    return found.map { trace in
      var trace = trace
      let isLeft = left.contains { $0.file == trace.file && $0.path == trace.path }
      if !isLeft {
        trace.state = .removed
      } else if trace.state == .found {
        trace.state =
          switch outcome {
          case .removed: .leaving
          case .unreachable: .stays(.needsDaemon)
          case .refused(let words): .stays(.refused(words))
          }
      }
      return trace
    }
  }
}

package enum GvfsOutcome: Sendable, Equatable {
  case removed
  case unreachable
  /// Carries the message of the daemon or the tool.
  case refused(String)
}

/// Removes paths from the trees of gvfs.
package protocol GvfsRemover: Sendable {
  /// Removes a path and everything below it from a tree, which is named by its file.
  func remove(_ path: [UInt8], from tree: String) -> GvfsOutcome
}

/// Removes paths through gvfsd-metadata, over D-Bus. No other program may write its files, because it maps
/// them.
package struct GvfsDaemon: GvfsRemover {
  package init() {}

  /// Arguments: gdbus, the tree, the path, the path that fills the journal, and `own` in a session of its
  /// own. The daemon of such a session would outlive it.
  private static let script = """
    remove() {
      "$1" call --session --timeout 10 --dest org.gtk.vfs.Metadata --object-path /org/gtk/vfs/metadata \
        --method org.gtk.vfs.Metadata.Remove "$2" "$3" > /dev/null
    }
    remove "$1" "$2" "$3" || exit
    remove "$1" "$2" "$4" && remove "$1" "$2" "$4"
    if [ "$5" = own ]; then
      pid=$("$1" call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus \
        --method org.freedesktop.DBus.GetConnectionUnixProcessID org.gtk.vfs.Metadata)
      pid=${pid#(uint32 }
      kill "${pid%,)}"
    fi
    exit 0
    """

  package func remove(_ path: [UInt8], from tree: String) -> GvfsOutcome {
    guard let gdbus = Subprocess.find("gdbus"), let session = session() else { return .unreachable }
    // The daemon records a removal in its journal, beside the names, and writes tree and journal anew after a
    // minute, or at once if the journal is full. So two removals of a long path that is in no tree fill it.
    let filler = [UInt8(ascii: "/")] + [UInt8](repeating: UInt8(ascii: "-"), count: 30_000)
    let words =
      session + [
        "sh", "-c", GvfsDaemon.script, "sh", gdbus, GvfsDaemon.literal(Array(tree.utf8)),
        GvfsDaemon.literal(path), GvfsDaemon.literal(filler), session.isEmpty ? "" : "own",
      ]
    do throws(Errno) {
      let (code, complaint) = try Subprocess.run(words)
      if code == 0 { return .removed }
      // Nobody has the name, and nothing can be started that takes it.
      let isMissing = ["ServiceUnknown", "NameHasNoOwner", "Cannot autolaunch", "connect"]
      if isMissing.contains(where: { complaint.contains($0) }) { return .unreachable }
      let line = complaint.split(separator: "\n").last { !$0.hasPrefix("dbus-daemon") } ?? ""
      return .refused(String(line.prefix(200)))
    } catch {
      return .unreachable
    }
  }

  /// Words that run a command in the user's session. Without one, they make a session for the command, which
  /// starts a daemon of its own; but not beside another daemon. nil if neither is possible.
  private func session() -> [String]? {
    let bus = PathCalls.variable("DBUS_SESSION_BUS_ADDRESS") ?? ""
    let runtime = PathCalls.variable("XDG_RUNTIME_DIR") ?? ""
    if !bus.isEmpty || !runtime.isEmpty && PathCalls.exists("\(runtime)/bus") { return [] }
    guard let runner = Subprocess.find("dbus-run-session"), !GvfsDaemon.isRunning else {
      return nil
    }
    return [runner, "--"]
  }

  private static var isRunning: Bool {
    ProcessState.all().contains { process in
      ProcessState.name(of: process) == "gvfsd-metadata" && !ProcessState.isZombie(process)
    }
  }

  /// A byte string in GVariant's text format. Everything but plain characters is escaped in octal.
  static func literal(_ bytes: [UInt8]) -> String {
    let plain = Set("/-_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)
    let text = bytes.map { byte in
      if plain.contains(byte) { return String(UnicodeScalar(byte)) }
      let digits = String(byte, radix: 8)
      return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
    return "b'\(text.joined())'"
  }
}
