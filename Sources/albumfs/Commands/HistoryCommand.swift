import ArgumentParser
import ControlProtocol

struct HistoryCommand: PasswordCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Show or set how long a mounted space keeps deleted files.",
    discussion: """
      A file that is removed or replaced stays in the space for 30 days and can be restored (`albumfs \
      deleted`). A full disk gives up the oldest ones, but none before its guaranteed 7 days are over. The \
      settings are sealed in the space. Keeping files for less time, or not at all, asks for a password of \
      the space again. Files that are deleted already stay until their time is over or \
      `albumfs deleted purge` removes them.

        albumfs history ~/Album
        albumfs history ~/Album --keep 90d --at-least 14d
        albumfs history ~/Album --off
      """)

  @OptionGroup var mount: MountArgument

  @Option(help: ArgumentHelp("How long deleted files stay.", valueName: "days"))
  var keep: DaysArgument?

  @Option(help: ArgumentHelp("How long they stay even on a full disk.", valueName: "days"))
  var atLeast: DaysArgument?

  @Flag(help: "Keep no files that are deleted from now on.")
  var off = false

  @Flag(help: "Keep deleted files again.")
  var on = false

  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if on && off { throw ValidationError("Give --on or --off, not both.") }
    if let keep, let atLeast, atLeast.days > keep.days {
      throw ValidationError("--at-least cannot be longer than --keep.")
    }
  }

  func run() throws {
    ProcessSetup.protectMemory()
    let client = try mount.connect()
    let present = try HistoryCommand.settings(client.ask(.deletedSettings))
    let wanted = changed(present)
    if wanted == present { return Terminal.result(HistoryCommand.text(present)) }
    let consent = wanted.keepsLess(than: present) ? try Consent.ask(password, client) : nil
    let set = try HistoryCommand.settings(
      client.ask(.setDeletedSettings(wanted, consent: consent)))
    Terminal.result(HistoryCommand.text(set))
  }

  private static func settings(_ reply: ControlReply) throws(Failure) -> DeletedFileSettings {
    guard case .deletedSettings(let settings) = try reply.orThrow() else {
      throw Failure.unexpectedReply
    }
    return settings
  }

  private func changed(_ present: DeletedFileSettings) -> DeletedFileSettings {
    var wanted = present
    if on { wanted.keeps = true }
    if off { wanted.keeps = false }
    if let keep { wanted.keptDays = keep.days }
    if let atLeast {
      wanted.guaranteedDays = atLeast.days
    } else {
      wanted.guaranteedDays = min(wanted.guaranteedDays, wanted.keptDays)
    }
    return wanted
  }

  private static func text(_ settings: DeletedFileSettings) -> String {
    let days = { (count: Int64) in counted(Int(count), "day") }
    return settings.keeps
      ? "Deleted files stay for \(days(settings.keptDays)), on a full disk for "
        + "\(days(settings.guaranteedDays))."
      : "Files that are deleted now are gone at once."
  }
}
