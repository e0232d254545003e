import ArgumentParser
import ControlProtocol
import Posix

struct Tidy: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Move photos that lie directly in an album into its Photo.",
    discussion: """
      A photo whose name exists in Photo already stays where it is, and tidy names it.

        albumfs tidy ~/Album/Trip
        albumfs tidy --all
      """)

  @Argument(help: "An album, or with --all anything in the mount.", completion: .directory)
  var path: String?

  @Flag(help: "All albums of the mount; without PATH, of all your mounts.")
  var all = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    if path == nil && !all { throw ValidationError("Give an album, or --all.") }
  }

  func run() throws {
    if let path {
      let (mount, inside) = try MountPath.find(path)
      try tidy(mount, all ? nil : inside)
      return
    }
    for mount in try MountPath.table().spaces where mount.isOurs { try tidy(mount, nil) }
  }

  private func tidy(_ mount: MountEntry, _ album: String?) throws {
    let summary = try ControlClient(mount).ask(.tidy(album: album)).done()
    output.say("Moved \(counted(summary.count, "file")).")
    if !summary.notes.isEmpty {
      throw Failure(.clash, summary.notes.joined(separator: "\n"))
    }
  }
}
