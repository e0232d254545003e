import AlbumCheck
import AlbumModel
import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon
import FileKinds
import Glibc
import Posix
import ThumbnailProtocol

struct Check: RecoveryKeyCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check a space, and repair it.",
    discussion: """
      Reads and decrypts everything that the space has in the store. Names what is damaged, by album and \
      photo. Changes nothing unless --repair is given. The space must not be mounted. Exits with 26 when it \
      finds damage.

      --repair makes the space consistent. It keeps everything that can be read. A file that lost a part \
      goes to the album Recovered, with zeros in place of that part; so do files that lost their name. It \
      then discards data that it could not read: restore damaged files of the store from a backup first, \
      if you have one.

        albumfs check ~/Album.store
        albumfs check ~/Album.store --repair
      """)

  @Argument(help: "The store's directory, or s3://bucket/prefix.", completion: .directory)
  var store: String

  @Flag(help: "Make the space consistent.")
  var repair = false

  @Option(
    help: ArgumentHelp(
      """
      With --repair: the directory that a mount of this store on this machine got by --staging, with what it \
      could not send.
      """, valueName: "path"), completion: .directory)
  var staging: String?

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var password: PasswordOptions
  @OptionGroup var secret: RecoveryKeyOption
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if staging != nil, !repair { throw ValidationError("--staging is for --repair.") }
  }

  func run() throws {
    ProcessSetup.protectMemory()
    let opened =
      repair ? try RemoteStores.openToRepair(store, staging) : try StoreCommands.open(store)
    let keys = try unlock(opened)
    let bar = ProgressBar("Checking", isShown: !output.quiet && !json)
    Interruption.collect()
    let report: CheckReport
    do throws(StoreError) {
      report = try SpaceCheck.run(opened, keys: keys, options: options) { progress in
        bar.show(progress)
        return !Interruption.wasAsked
      }
    } catch {
      throw StoreCommands.failure(error, in: store) { keys }
    }
    bar.clear()
    if json { Terminal.result(json: CheckDescription(report)) } else { show(report) }
    if !report.isComplete {
      throw Failure(.interrupted, "Stopped; the report covers what was checked until then.")
    }
    if report.isDamaged { throw Failure(.damaged, verdict(report)) }
  }

  private func unlock(_ opened: Store) throws(Failure) -> SpaceKeys {
    let typed = try secret.ask(password, for: opened)
    return try StoreCommands.reporting { () throws(StoreError) in
      secret.recoveryKey
        ? try opened.unlock(recoveryKey: typed) : try opened.unlock(password: typed)
    }
  }

  private var options: CheckOptions {
    var options = CheckOptions()
    options.repairs = repair
    options.owner = getuid()
    options.group = getgid()
    options.fileEnding = { start in
      ImageKind(sniffing: start).map { ".\($0.ending(start: start))" }
    }
    return options
  }

  private func show(_ report: CheckReport) {
    for finding in report.findings {
      Terminal.result("\(finding.severity.rawValue): \(finding.sentence)".printable)
    }
    for repair in report.repairs {
      Terminal.result("repaired: \(repair.sentence)".printable)
    }
    let totals = report.totals
    output.say(
      "Checked \(counted(totals.files, "file")), \(SizeArgument.readable(totals.bytes)) "
        + "in \(counted(totals.records, "record"))"
        + (report.isDamaged ? "." : ": nothing is damaged."))
    if repair, RemoteStores.isRemote(MountPath.resolve(store)) {
      output.say("Changes that wait for another address of this server were not looked for.")
    }
    if report.wantsRepair, !report.isDamaged, !repair {
      output.say(
        "albumfs keeps what the notes name: albumfs check --repair restores what is not shown.")
    }
  }

  private func verdict(_ report: CheckReport) -> String {
    let count = report.findings.count { $0.severity == .damage }
    let found = "The space is damaged: \(counted(count, "finding"))."
    if !report.wantsRepair { return found + " No repair fixes that: do what is said there." }
    if repair { return found + " It is repaired; check again to be sure." }
    return found
      + " Restore what is damaged from a backup of the store, or run albumfs check --repair."
  }
}

/// The output of `--json`, version 1. Releases add fields, and never change or remove one.
private struct CheckDescription: Encodable {
  struct Stretch: Encodable {
    var offset: Int64
    var length: Int64
  }
  struct Finding: Encodable {
    var severity: String
    var kind: String
    var path: String?
    var inode: UInt64?
    var ranges: [Stretch]
    var segments: [String]
    var since: Int64?
    var message: String

    init(_ finding: CheckFinding) {
      severity = finding.severity.rawValue
      kind = finding.kind.rawValue
      path = finding.path
      inode = finding.inode
      ranges = finding.ranges.map {
        Stretch(offset: $0.lowerBound, length: $0.upperBound - $0.lowerBound)
      }
      segments = finding.segments
      since = finding.since?.seconds
      message = finding.meaning
    }
  }
  struct Totals: Encodable {
    var files: Int
    var directories: Int
    var records: Int
    var bytes: Int64
    var segments: Int
  }
  var version = 1
  var complete: Bool
  var damaged: Bool
  var findings: [Finding]
  var repairs: [String]
  var totals: Totals

  init(_ report: CheckReport) {
    complete = report.isComplete
    damaged = report.isDamaged
    findings = report.findings.map { Finding($0) }
    repairs = report.repairs.map(\.sentence)
    totals = Totals(
      files: report.totals.files, directories: report.totals.directories,
      records: report.totals.records, bytes: report.totals.bytes,
      segments: report.totals.segments)
  }
}
