import AlbumModel
import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon
import Posix

struct DeletedCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "deleted",
    abstract: "List deleted files, bring them back, or remove them for good.",
    subcommands: [DeletedList.self, DeletedRestore.self, DeletedPurge.self])
}

struct DeletedList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the deleted files of a mounted space.",
    discussion: """
      Shows each file that was removed, replaced or overwritten and that the space still keeps: its number, \
      when that was, how many days it stays, its size and its path. `albumfs history` sets how long files \
      stay.

        albumfs deleted list ~/Album
        albumfs deleted list ~/Album --json
      """)

  @OptionGroup var mount: MountArgument

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  func run() throws {
    let list = try DeletedFileList(mount.connect())
    if json { return Terminal.result(json: list) }
    for file in list.files { Terminal.result(file.line) }
    if list.files.isEmpty { output.say("The space keeps no deleted files.") }
  }
}

/// All deleted files, the oldest first. Its JSON form is the output of `--json`.
struct DeletedFileList: Encodable {
  var version = 1
  var files: [DeletedFileEntry] = []

  init(_ client: borrowing ControlClient) throws(Failure) {
    var place: UInt32? = 0
    while let start = place {
      guard case .deletedFiles(let page) = try client.ask(.deletedFiles(from: start)).orThrow()
      else { throw Failure.unexpectedReply }
      files += page.files
      place = page.next
    }
    files.sort { ($0.deleted, $0.number) < ($1.deleted, $1.number) }
  }
}

extension DeletedFileEntry {
  fileprivate var line: String {
    let days = (secondsLeft + 86_399) / 86_400
    let note = cause == "removed" ? "" : " (\(cause))"
    return [
      "\(number)", SystemClock.localTime(seconds: Int64(saturating: deleted)), "\(days) d",
      SizeArgument.readable(size), path.printable + note,
    ].joined(separator: "\t")
  }
}

/// Which deleted files a command is for.
struct DeletedFileSelection: ParsableArguments {
  @Argument(
    help: "The mount point or anything below it.", completion: Completions.mounts)
  var path: String

  @Argument(help: ArgumentHelp("Numbers that `albumfs deleted list` shows.", valueName: "number"))
  var numbers: [UInt64] = []

  @Option(
    help: ArgumentHelp(
      "All files that were deleted at this time or later, such as 2026-11-26T10:00 or 2h.",
      valueName: "when"))
  var since: MomentArgument?

  @Flag(help: "All deleted files.")
  var all = false

  func validate() throws {
    let given = [!numbers.isEmpty, since != nil, all]
    if given.count(where: { $0 }) != 1 {
      throw ValidationError("Give numbers of deleted files, --since or --all.")
    }
  }

  var selection: DeletedSelection {
    DeletedSelection(
      numbers: numbers.isEmpty ? nil : numbers, since: since.map { Double($0.seconds) })
  }

  func connect() throws(Failure) -> ControlClient {
    try ControlClient(MountPath.find(path).mount)
  }
}

struct DeletedRestore: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Bring deleted files back.",
    discussion: """
      Each file comes back to the folder it was in, with its thumbnail, times and attributes. A folder or \
      album that is gone comes back with it. If something has the name of a file by now, the file gets \
      " (restored)" behind its name. The former content of a file that was overwritten becomes a file \
      beside it.

        albumfs deleted restore ~/Album 1041 1042
        albumfs deleted restore ~/Album --since 2h
        albumfs deleted restore ~/Album --all
      """)

  @OptionGroup var files: DeletedFileSelection
  @OptionGroup var output: OutputOptions

  func run() throws {
    let summary = try files.connect().ask(.restoreDeleted(files.selection)).done()
    for note in summary.notes { output.say(note.printable) }
    output.say("Brought back \(counted(summary.count, "file")).")
  }
}

struct DeletedPurge: PasswordCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge",
    abstract: "Remove deleted files for good.",
    discussion: """
      Asks for a password of the space again, so that a program that only has the mount cannot do it. The \
      files cannot be restored any more. Their content leaves the store when the grace time of the mount is \
      over (15 minutes; see `albumfs mount --grace`). Until then `albumfs check --repair` may find it, and \
      after that older copies of the store and the free blocks of the disk may still hold it.

        albumfs deleted purge ~/Album 1041
        albumfs deleted purge ~/Album --all
      """)

  /// What a purge does not promise.
  private static let limits = """
    Nothing brings them back through this mount. Their content leaves the store when the grace time is over. \
    Until then `albumfs check --repair` may find it, and after that older copies of the store and the free \
    blocks of the disk may still hold it.
    """

  @OptionGroup var files: DeletedFileSelection
  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    ProcessSetup.protectMemory()
    let client = try files.connect()
    let consent = try Consent.ask(password, client)
    let summary = try client.ask(.purgeDeleted(files.selection, consent: consent)).done()
    output.say("Removed \(counted(summary.count, "file")) for good.")
    if summary.count > 0 { output.say(DeletedPurge.limits) }
  }
}

/// The password that a user gives again for what cannot be undone.
enum Consent {
  /// Asks for a password of a mounted space; returns the proof for its daemon.
  static func ask(_ password: PasswordOptions, _ client: borrowing ControlClient) throws(Failure)
    -> String
  {
    guard case .description(let description) = try client.ask(.describe).orThrow() else {
      throw Failure.unexpectedReply
    }
    let store = try StoreCommands.open(description.store)
    let typed = try password.ask(for: store)
    let keys = try StoreCommands.reporting { () throws(StoreError) in
      try store.unlock(password: typed)
    }
    return keys.consent
  }
}
