import ArgumentParser
import ControlProtocol

struct Sync: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Wait until everything is on disk and all thumbnails are made.",
    discussion: """
      Returns when everything that was closed before the call is on disk and its thumbnails are made (or \
      have failed; `albumfs status` says which and why). For a store in an object storage it returns when \
      all of that is there.

        cp ~/Pictures/*.jpg ~/Album/Trip/Photo/ && albumfs sync ~/Album
      """)

  @OptionGroup var mount: MountArgument

  @Option(help: ArgumentHelp("Stop waiting after this many seconds.", valueName: "s"))
  var timeout: Double?

  @OptionGroup var output: OutputOptions

  func validate() throws {
    if let timeout, !(timeout >= 0 && timeout < 1e9) {
      throw ValidationError("--timeout takes seconds, 0 or more.")
    }
  }

  func run() throws {
    let client = try mount.connect()
    let reply = try client.ask(.sync(timeoutSeconds: timeout)) { pending in
      if !output.quiet, pending > 0 { Terminal.transient("\(counted(pending, "photo")) to go") }
    }
    if !output.quiet { Terminal.transient("") }
    for note in try reply.done().notes { output.say(note) }
  }
}
