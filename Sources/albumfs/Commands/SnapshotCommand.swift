import AlbumModel
import ArgumentParser
import ControlProtocol
import Posix

struct SnapshotCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "snapshot",
    abstract: "See a mounted space as it was, and bring back what was there.",
    discussion: """
      Before something is removed, replaced, overwritten or renamed, albumfs makes a snapshot of the whole \
      space, at most one a minute. It takes no room of its own: the space keeps what it shows. The directory \
      .snapshots of the mount has all of them, read-only; no listing shows that directory.
      """,
    subcommands: [
      SnapshotList.self, SnapshotCreate.self, SnapshotRestore.self, SnapshotDiff.self,
      SnapshotRemove.self,
    ])
}

/// The mount point, where other arguments follow.
struct SnapshotMount: ParsableArguments {
  @Argument(help: "The mount point or anything below it.", completion: Completions.mounts)
  var path: String

  func connect() throws(Failure) -> ControlClient { try ControlClient(MountPath.find(path).mount) }
}

struct SnapshotList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the snapshots of a mounted space.",
    discussion: """
      Shows the name of each snapshot and its time. Those without a name of their own have their time in \
      UTC for a name: all of the last day stay, one an hour for 7 days, and one a day for as long as deleted \
      files do.

        albumfs snapshot list ~/Album
        ls ~/Album/.snapshots
      """)

  @OptionGroup var mount: MountArgument

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  func run() throws {
    let found = try SnapshotReply.entries(mount.connect().ask(.snapshots))
    if json { return Terminal.result(json: Listing(snapshots: found)) }
    for entry in found {
      let time = SystemClock.localTime(seconds: Int64(saturating: entry.time))
      Terminal.result("\(entry.name.printable)\t\(time)")
    }
    if found.isEmpty { output.say("The space has no snapshots.") }
  }

  /// The output of `--json`.
  private struct Listing: Encodable {
    var version = 1
    var snapshots: [SnapshotEntry]
  }
}

enum SnapshotReply {
  static func entries(_ reply: ControlReply) throws(Failure) -> [SnapshotEntry] {
    guard case .snapshots(let entries) = try reply.orThrow() else { throw Failure.unexpectedReply }
    return entries
  }
}

struct SnapshotCreate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make a snapshot with a name.",
    discussion: """
      It stays until `albumfs snapshot remove` removes it, and with it all that it shows.

        albumfs snapshot create ~/Album before-sorting
      """)

  @OptionGroup var mount: SnapshotMount

  @Argument(help: "The name.")
  var name: String

  @OptionGroup var output: OutputOptions

  func run() throws {
    _ = try SnapshotReply.entries(mount.connect().ask(.makeSnapshot(name: name)))
    output.say("Made the snapshot \(name.printable).")
  }
}

struct SnapshotRestore: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Bring files or folders back as they were.",
    discussion: """
      Takes the snapshot of that name, or the first one from that time on. What is there as it was stays; \
      what lacks comes back. If something else has the name of a file by now, the file gets " (restored)" \
      behind its name. Nothing is removed, and no room is needed.

        albumfs snapshot restore ~/Album 2h Trip
        albumfs snapshot restore ~/Album before-sorting Trip/Photo/a.jpg
        albumfs snapshot restore ~/Album 2026-11-26T10:00
      """)

  @OptionGroup var mount: SnapshotMount

  @Argument(
    help: "The name of a snapshot, or a time such as 2026-11-26T10:00 or 2h.")
  var time: SnapshotArgument

  @Argument(help: "A file or folder of the space. The default is the whole space.")
  var restored: String = ""

  @OptionGroup var output: OutputOptions

  func run() throws {
    let request = ControlRequest.restoreSnapshot(name: time.name, path: restored)
    let summary = try mount.connect().ask(request).done()
    for note in summary.notes { output.say(note.printable) }
    output.say("Brought back \(counted(summary.count, "file")).")
  }
}

struct SnapshotDiff: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Show what changed between two snapshots, or since one.",
    discussion: """
      Prints a line for each difference: + for what came, - for what went, M for what changed, and R for \
      what has another path. A folder stands for all that is in it.

        albumfs snapshot diff ~/Album 2h
        albumfs snapshot diff ~/Album before-sorting 2026-11-26T10:00
      """)

  @OptionGroup var mount: SnapshotMount

  @Argument(help: "The name of a snapshot, or a time such as 2026-11-26T10:00 or 2h.")
  var old: SnapshotArgument

  @Argument(help: "The same for the later one. The default is now.")
  var new: SnapshotArgument?

  @OptionGroup var output: OutputOptions

  func run() throws {
    let request = ControlRequest.compareSnapshots(old: old.name, new: new?.name)
    let summary = try mount.connect().ask(request).done()
    for line in summary.notes { Terminal.result(line.printable) }
    if summary.notes.isEmpty { output.say("No differences.") }
  }
}

struct SnapshotRemove: PasswordCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove snapshots.",
    discussion: """
      Asks for a password of the space again, so that a program that only has the mount cannot do it. \
      Deleted files stay as long as `albumfs history` says.

        albumfs snapshot remove ~/Album before-sorting
      """)

  @OptionGroup var mount: SnapshotMount

  @Argument(help: "Names that `albumfs snapshot list` shows.")
  var names: [String]

  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    ProcessSetup.protectMemory()
    let client = try mount.connect()
    let consent = try Consent.ask(password, client)
    let summary = try client.ask(.removeSnapshots(names: names, consent: consent)).done()
    output.say("Removed \(counted(summary.count, "snapshot")).")
  }
}
