import ArgumentParser
import ControlProtocol
import Glibc

/// The version that `--version` shows.
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
        mkdir ~/Album/Trip && cp ~/Pictures/*.jpg ~/Album/Trip/Photo/
        albumfs umount ~/Album

      Exit codes:
      \(ExitStatus.table)
      """,
    version: "albumfs \(albumfsVersion)",
    subcommands: [
      Init.self, Mount.self, Umount.self, SpaceCommand.self, ChaffCommand.self, Info.self,
      List.self, Status.self,
      Sync.self, Thumbs.self, Tidy.self, Compact.self, Check.self, DaemonCommand.self,
    ])
}

@main
enum Main {
  static func main() {
    ProcessSetup.fillStandardDescriptors()
    // With SIGPIPE ignored, a write to a closed pipe returns EPIPE, which a message can explain.
    _ = signal(SIGPIPE, SIG_IGN)
    Interruption.install()
    do {
      var command = try Albumfs.parseAsRoot()
      try command.run()
    } catch let failure as Failure {
      Terminal.complain(failure.sentence)
      exit(ExitStatus.code(for: failure.kind))
    } catch {
      finish(parsing: error)
    }
  }

  /// Prints help, version and completion scripts as results; anything else is wrong usage.
  private static func finish(parsing error: any Error) -> Never {
    let text = Albumfs.fullMessage(for: error)
    if Albumfs.exitCode(for: error) == .success {
      Terminal.result(text)
      exit(0)
    }
    Terminal.message(text)
    exit(ExitStatus.code(for: .usage))
  }
}

extension Failure {
  /// What happened, and what to type.
  var sentence: String {
    switch remedy {
    case .repair: "\(message) Repair it with albumfs check --repair."
    case .mountReadOnly: "\(message) Mount it with --read-only."
    case .other, nil: message
    }
  }
}
