import ArgumentParser
import ControlProtocol
import Glibc
import Posix

/// The version that `--version` shows, with the commit and its date.
let albumfsVersion = "0.1.0"

struct Albumfs: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "albumfs",
    abstract: "An encrypted photo album that is a file system.",
    discussion: """
      A password unlocks a space of the store. Every directory in it is an album, with the photos in \
      Photo and a thumbnail of each in Thumb. First steps:

        albumfs init ~/Album.store
        albumfs mount ~/Album.store ~/Album
        mkdir ~/Album/Trip
        cp -r ~/Pictures/. ~/Album/Trip/Photo/
        albumfs umount ~/Album
      """,
    version: "albumfs \(albumfsVersion) (\(ProgramSource.text))",
    subcommands: [
      Init.self, Mount.self, Umount.self, Lock.self, Import.self, Export.self, Copy.self,
      Adopt.self,
      SpaceCommand.self,
      ChaffCommand.self,
      Info.self,
      List.self, ListPhotos.self, Find.self, Duplicates.self, Status.self,
      Sync.self, Thumbs.self, Tidy.self, Compact.self, DeletedCommand.self, HistoryCommand.self,
      SnapshotCommand.self,
      TracesCommand.self, Browse.self, Serve.self,
      Check.self, DaemonCommand.self, SessionCommand.self, Reach.self,
    ])
}

@main
enum Main {
  static func main() {
    ProcessSetup.fillStandardDescriptors()
    // With SIGPIPE ignored, a write to a closed pipe returns EPIPE, which a message can explain.
    _ = signal(SIGPIPE, SIG_IGN)
    // Likewise a write beyond the limit of a file's length returns EFBIG.
    _ = signal(SIGXFSZ, SIG_IGN)
    Interruption.install()
    if isWorker { AttendedCommand.becomeWorker() }
    var command: any ParsableCommand = Albumfs()
    do {
      command = try Albumfs.parseAsRoot(arguments())
      if let stores = distantStores(of: command) {
        if (command as? Mount)?.foreground != true { exit(try AttendedCommand.run(on: stores)) }
        try stores.requireReply()
      }
      try command.run()
      try Terminal.requireResults()
    } catch let failure as Failure {
      fail(failure, explained(failure, command).sentence(for: command))
    } catch {
      finish(parsing: error)
    }
  }

  /// nil in the process that works on them.
  private static func distantStores(of command: any ParsableCommand) -> DistantStores? {
    if isWorker { return nil }
    return (command as? any StoreCommand).flatMap { DistantStores($0.stores) }
  }

  private static let isWorker = CommandLine.arguments.dropFirst().first == AttendedCommand.word

  private static func fail(_ failure: Failure, _ sentence: String) -> Never {
    Terminal.complain(sentence)
    exit(ExitStatus.code(for: failure.kind))
  }

  /// Names the security key in a failure that speaks of the password that it stands for.
  private static func explained(_ failure: Failure, _ command: any ParsableCommand) -> Failure {
    guard failure.kind == .wrongPassword || command is Init || command is SpaceAdd,
      let command = command as? any PasswordCommand
    else { return failure }
    return command.password.explained(failure)
  }

  private static func arguments() -> [String] {
    let typed = Array(CommandLine.arguments.dropFirst(isWorker ? 2 : 1))
    if let refusal = Words.refusal(of: typed) {
      Terminal.message(refusal)
      exit(ExitStatus.code(for: .usage))
    }
    guard let call = MountHelper.translated(CommandLine.arguments.first ?? "", typed) else {
      return Words.understood(typed)
    }
    if call.isEmpty { exit(0) }
    return call
  }

  /// Prints help, version and completion scripts as results; anything else is wrong usage.
  private static func finish(parsing error: any Error) -> Never {
    Terminal.widen()
    let text = Albumfs.fullMessage(for: error)
    if Albumfs.exitCode(for: error) == .success {
      let isHelp = text == Albumfs.helpMessage(columns: nil)
      Terminal.result(isHelp ? "\(text)\nEXIT CODES:\n\(ExitStatus.table)" : text)
      do throws(Failure) { try Terminal.requireResults() } catch { fail(error, error.message) }
      exit(0)
    }
    Terminal.message(Words.explained(text))
    exit(ExitStatus.code(for: .usage))
  }
}

extension Failure {
  /// The message, and the advice that fits this command.
  func sentence(for command: any ParsableCommand) -> String {
    advice(for: command).map { "\(message) \($0)" } ?? message
  }

  /// The option that names the same staging directory to a repair.
  private func staging(of command: any ParsableCommand) -> String {
    (command as? Mount)?.staging.map { " --staging \($0.printable)" } ?? ""
  }

  /// What waits on this machine belongs to one address of the server.
  private func server(of command: any ParsableCommand) -> String {
    let store = (command as? Mount)?.namedStore
    return store.map(RemoteStores.isRemote) ?? false ? ", with the same address of the server" : ""
  }

  /// nil if nothing that the user of this command can type helps.
  private func advice(for command: any ParsableCommand) -> String? {
    switch remedy {
    case .repair where (command as? Check)?.repair != true:
      "You can repair it with albumfs check --repair\(staging(of: command))\(server(of: command))."
    case .mountReadOnly where (command as? Mount)?.readOnly == false:
      "You can mount it with --read-only."
    case .recoveryKey where (command as? any RecoveryKeyCommand)?.secret.recoveryKey == false:
      "You can use the recovery key instead of the password, with --recovery-key."
    case .mayRead, .mayWrite:
      (command as? any StoreCommand)?.namedStore.flatMap {
        OwnershipAdvice.sentence(
          for: MountPath.resolve($0),
          mayReadOnly: remedy == .mayWrite && (command as? Mount)?.readOnly == false)
      }
    default: nil
    }
  }
}
